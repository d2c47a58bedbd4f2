import type { JsonObject } from '../jsonrpc/message.ts';
import type { AnySchema, StandardSchema } from './schema.ts';

/**
 * The type that a JSON Schema literal describes: objects, arrays, choices and the plain types. Anything else is unknown,
 * on purpose: a schema that needs more is better written with a schema library.
 */
export type FromJsonSchema<S> = S extends { enum: readonly (infer Value)[] }
  ? Value
  : S extends
        | { const: infer Value }
        | { oneOf: readonly { const: infer Value }[] }
        | { anyOf: readonly { const: infer Value }[] }
    ? Value
    : S extends { type: 'string' }
      ? string
      : S extends { type: 'number' | 'integer' }
        ? number
        : S extends { type: 'boolean' }
          ? boolean
          : S extends { type: 'array'; items: infer Item }
            ? FromJsonSchema<Item>[]
            : S extends { type: 'object'; properties: infer P }
              ? Flat<
                  { -readonly [K in keyof P & RequiredOf<S>]: FromJsonSchema<P[K]> } & {
                    -readonly [K in Exclude<keyof P, RequiredOf<S>>]?: FromJsonSchema<P[K]>;
                  }
                >
              : S extends { type: 'object' }
                ? JsonObject
                : unknown;

type RequiredOf<S> = S extends { required: readonly (infer Name)[] } ? Name : never;
type Flat<T> = { [K in keyof T]: T[K] };
type Plain<S, T = FromJsonSchema<S>> = unknown extends T ? JsonObject : T;

/** What a tool's handler is given, and what an accepted form holds. */
export type Arguments<I extends AnySchema | undefined> =
  I extends StandardSchema<any, infer Output> ? Output : I extends undefined ? {} : Plain<I>;

/** What a tool's handler may give as its structured result. */
export type Structured<O extends AnySchema> = O extends StandardSchema<infer Input, any> ? Input : Plain<O>;
