import theme from 'vitepress/theme-without-fonts';
import '../../../page/ui/tokens.css';
import './style.css';

export default theme;
