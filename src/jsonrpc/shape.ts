import { define } from '../base/define.ts';
import { isObject, type JsonObject } from './message.ts';

/*
 * Functions that reshape messages. Each one returns its input if nothing changes, and never changes it in place, because
 * the owner may also send it to others.
 */

/** An object without some of its properties. */
export function without(object: JsonObject, names: readonly string[] | undefined): JsonObject {
  if (names === undefined || names.every((name) => object[name] === undefined)) return object;
  // V8 keeps an object from which a property was deleted as a dictionary, which takes several times as long to read and write.
  const rest: JsonObject = {};
  for (const name of Object.keys(object)) {
    if (names.includes(name)) continue;
    if (name === '__proto__') define(rest, name, object[name]);
    else rest[name] = object[name];
  }
  return rest;
}

/** An object with a value of one of its properties. Undefined changes nothing. */
export function put(object: JsonObject, name: string, value: unknown): JsonObject {
  return value === undefined || value === object[name] ? object : { ...object, [name]: value };
}

/** Reshapes each object in a list. Anything but a list is returned as it is. */
export function each(values: unknown, shape: (value: JsonObject) => JsonObject): unknown {
  if (!Array.isArray(values)) return values;
  const shaped = values.map((value: unknown) => (isObject(value) ? shape(value) : value));
  return shaped.some((value, index) => value !== values[index]) ? shaped : values;
}

/** Reshapes one property of an object, if that property is an object. */
export function inside(object: JsonObject, name: string, shape: (value: JsonObject) => JsonObject): JsonObject {
  const value: unknown = object[name];
  return isObject(value) ? put(object, name, shape(value)) : object;
}

/**
 * The JSON of a value, with the members of each object sorted by name, so that equal values have the same text. It
 * writes text and makes no objects, because V8 takes long to make many large ones with different keys.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const members: string[] = [];
  for (const name of Object.keys(value).toSorted()) {
    const member: unknown = value[name];
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
}
