import { isObject, type JsonObject } from './message.ts';

/*
 * What shaping is made of. Each gives back what it was given where nothing changes, so that a message that is fit as it
 * is costs a look, and is never changed in place: its owner may send it to others.
 */

/** An object without some of its properties. */
export function without(object: JsonObject, names: readonly string[] | undefined): JsonObject {
  if (names === undefined || names.every((name) => object[name] === undefined)) return object;
  const rest = { ...object };
  for (const name of names) delete rest[name];
  return rest;
}

/** An object with a value of one of its properties. Undefined changes nothing. */
export function put(object: JsonObject, name: string, value: unknown): JsonObject {
  return value === undefined || value === object[name] ? object : { ...object, [name]: value };
}

/** What is listed, each object of it shaped; anything but a list as it is. */
export function each(values: unknown, shape: (value: JsonObject) => JsonObject): unknown {
  if (!Array.isArray(values)) return values;
  const shaped = values.map((value: unknown) => (isObject(value) ? shape(value) : value));
  return shaped.some((value, index) => value !== values[index]) ? shaped : values;
}

/** An object whose property is shaped, where that is an object. */
export function inside(object: JsonObject, name: string, shape: (value: JsonObject) => JsonObject): JsonObject {
  const value: unknown = object[name];
  return isObject(value) ? put(object, name, shape(value)) : object;
}
