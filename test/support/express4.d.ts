/** Express 4, under an alias. Its own types are those of Express 5, as far as the tests need them. */
declare module 'express4' {
  export { default } from 'express';
}
