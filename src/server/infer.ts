import type { JsonObject } from '../jsonrpc/message.ts';
import type { AnySchema, StandardSchema } from './schema.ts';

/**
 * The type that a JSON Schema literal describes: objects, arrays, choices and the primitive types. Anything else is
 * `unknown` on purpose. Use a schema library for more complex schemas.
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

/** The type of a tool's checked arguments, and of an accepted form's values. */
export type Arguments<I extends AnySchema | undefined> =
  I extends StandardSchema<any, infer Output> ? Output : I extends undefined ? {} : Plain<I>;

/** The type that a tool's handler may return as structured result. */
export type Structured<O extends AnySchema> = O extends StandardSchema<infer Input, any> ? Input : Plain<O>;
