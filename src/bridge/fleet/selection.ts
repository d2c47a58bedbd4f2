/** Which tools of a server are shown, and how. All names are the server's own; a `*` stands for any characters. */
export interface ToolSelection {
  /** Tools that are not shown, and cannot be called. Default: none. */
  readonly hide?: readonly string[] | undefined;
  /** The only tools that are shown. Default: all. */
  readonly only?: readonly string[] | undefined;
  /** Other names for tools, by their own: 1 to 64 letters, digits and `_ - .`, each for one tool. */
  readonly rename?: Readonly<Record<string, string>> | undefined;
  /** Other descriptions of tools, by their own names. */
  readonly describe?: Readonly<Record<string, string>> | undefined;
}
