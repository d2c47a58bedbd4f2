import { finishLogin } from 'everwire/auth';

finishLogin();
