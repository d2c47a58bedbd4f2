/** The groups of layers that the buttons above the grid show and hide. */
export const LAYERS = {
  Messages: ['message'],
  HTTP: ['head'],
  Frames: ['frame'],
  Lines: ['line'],
  Stderr: ['stderr'],
  Bytes: ['bytes', 'chunk', 'body'],
  Connections: ['open', 'close'],
} as const satisfies Record<string, readonly string[]>;

export type LayerGroup = keyof typeof LAYERS;

/** The group with a layer. */
export function groupOf(layer: string): LayerGroup | undefined {
  return (Object.keys(LAYERS) as LayerGroup[]).find((group) => (LAYERS[group] as readonly string[]).includes(layer));
}

/** The layers of groups. A gap belongs to all. */
export function layersOf(groups: ReadonlySet<LayerGroup>): ReadonlySet<string> {
  return new Set(['gap', ...[...groups].flatMap((group) => LAYERS[group] as readonly string[])]);
}

/** Whether a filter selects layers itself. If so, the buttons have no effect. */
export function namesLayers(filter: string): boolean {
  return /(^|[\s(-])(layer|header|lint|rule):/i.test(filter);
}
