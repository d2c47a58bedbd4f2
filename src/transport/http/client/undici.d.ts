/** Parts of undici that it does not export. `import 'undici'` would load three times as much, such as its `fetch`. */
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}
declare module 'undici/lib/core/symbols.js' {
  const symbols: { readonly kKeepAliveTimeoutValue: symbol };
  export default symbols;
}
