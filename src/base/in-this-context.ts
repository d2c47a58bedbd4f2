/**
 * A function that soon runs another one, in the asynchronous context of now, whoever calls it. That context may say whose request it is
 * (`AsyncLocalStorage`).
 */
export function inThisContext(run: () => void): () => void {
  let goOn!: () => void;
  void new Promise<void>((resolve) => (goOn = resolve)).then(run);
  return goOn;
}
