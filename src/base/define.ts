/** Sets an own property of an object. Unlike an assignment, it is safe for names such as `__proto__`. */
export function define(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, enumerable: true, configurable: true, writable: true });
}
