/** The shells that `everwire completion` knows. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
