import { signal } from '@preact/signals';
import { read, write } from './preferences.ts';

const THEMES = ['system', 'light', 'dark'] as const;
/** `system` follows the operating system. */
export type Theme = (typeof THEMES)[number];

export const theme = signal<Theme>(THEMES.find((name) => name === read('theme')) ?? 'system');

/** Changes to the next theme. */
export function switchTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
  write('theme', theme.value);
}

/** Applies the theme, now and after each change. */
export function applyTheme(): void {
  theme.subscribe((name) => {
    const { dataset } = document.documentElement;
    if (name === 'system') delete dataset['theme'];
    else dataset['theme'] = name;
  });
}
