/**
 * The files that guard something, each with the tests that have to notice a change of it: those, and no others, run for
 * its mutants.
 */
export const files: Readonly<Record<string, readonly string[]>> = {
  'src/jsonrpc/parse.ts': ['src/jsonrpc/parse.test.ts'],
  'src/jsonrpc/batch.ts': ['src/jsonrpc/batch.test.ts'],
  'src/transport/http/guards.ts': ['src/transport/http/guards.test.ts'],
  'src/transport/http/handler.ts': ['src/transport/http/{handler,authenticator,cors,pages,status}.test.ts'],
  'src/core/printable.ts': ['src/core/printable.test.ts'],
  'src/operate/clean-errors.ts': ['src/operate/clean-errors.test.ts'],
  'src/auth/api-key.ts': ['src/auth/api-key.test.ts'],
  'src/auth/bearer.ts': ['src/auth/bearer.test.ts'],
  'src/auth/credential.ts': ['src/auth/credential.test.ts'],
  'src/auth/fetch-json.ts': ['src/auth/fetch-json.test.ts'],
  'src/auth/issuer-keys.ts': ['src/auth/issuer-keys.test.ts'],
  'src/auth/jwt.ts': ['src/auth/jwt.test.ts'],
  'src/auth/protected-resource.ts': ['src/auth/protected-resource.test.ts'],
  'src/auth/redact.ts': ['src/auth/redact.test.ts'],
  'src/auth/scopes.ts': ['src/auth/scopes.test.ts'],
  'src/auth/scrub.ts': ['src/auth/scrub.test.ts'],
  'src/auth/token-verifier.ts': ['src/auth/token-verifier.test.ts'],
  'src/auth/urls.ts': ['src/auth/urls.test.ts'],
  'src/auth/client/guarded-http.ts': ['src/auth/client/{guarded-http,guarded-http-names}.test.ts'],
  'src/auth/client/addresses.ts': ['src/auth/client/addresses.test.ts'],
  'src/auth/client/acquisition.ts': ['src/auth/client/{acquisition,oauth}.test.ts'],
  'src/wire/modern/sealed-state.ts': ['src/wire/modern/sealed-state.test.ts'],
  'src/wire/modern/state-key.ts': ['src/wire/modern/sealed-state.test.ts'],
  'src/transport/stdio/framing.ts': ['src/transport/stdio/framing.test.ts'],
  'src/transport/stdio/lines.ts': ['src/transport/stdio/lines.test.ts'],
  'src/store/memory.ts': ['src/store/memory.test.ts'],
  'src/store/memory-tasks.ts': ['src/store/memory-tasks.test.ts'],
};
