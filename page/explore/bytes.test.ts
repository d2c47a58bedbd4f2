import { expect, test } from 'vitest';
import { bytesOf, fileName, rasterType } from './bytes.ts';

test.each([
  ['iVBORw0KGgoAAAANSUhEUg==', 'image/png'],
  ['/9j/4AAQSkZJRg==', 'image/jpeg'],
  ['R0lGODlhAQABAA==', 'image/gif'],
  ['UklGRiQAAABXRUJQVlA4', 'image/webp'],
  [btoa('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'), undefined],
  [btoa('<!doctype html><script>alert(1)</script>'), undefined],
])('the bytes of an image decide what it is: %s', (base64, type) => {
  expect(rasterType(bytesOf(base64)!)).toBe(type);
});

test('text that is not base64 has no bytes', () => {
  expect(bytesOf('no base64!')).toBeUndefined();
});

test.each([
  ['file:///home/me/notes.txt', 'notes.txt'],
  ['../../etc/passwd', 'passwd'],
  ['demo://x/a b\u202etxt.exe?q=1', 'q_1'],
  ['.bashrc', 'bashrc'],
  ['///', 'result'],
])('the file for %j is called %s', (name, file) => {
  expect(fileName(name)).toBe(file);
});
