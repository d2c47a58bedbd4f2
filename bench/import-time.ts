/** Prints how many milliseconds the import of the module named on the command line takes in a fresh process. */
const module = process.argv[2]!;
const started = performance.now();
await import(module);
console.log(performance.now() - started);
