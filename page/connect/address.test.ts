import { domainToASCII, domainToUnicode } from 'node:url';
import { expect, test } from 'vitest';
import { addressOf } from './address.ts';

test('the host of an address is shown in ASCII, and its other letters are spelled out', () => {
  expect(addressOf('https://аррӏе.com:8443/login?a=b#c')).toMatchObject({
    href: 'https://xn--80ak6aa92e.com:8443/login?a=b#c',
    host: 'xn--80ak6aa92e.com:8443',
    spelled: 'аррӏе.com',
    opens: true,
    warnings: ['The host name has letters that can look like other letters. Check it closely.'],
  });
});

test.each(['münchen.de', '日本語.jp', 'bücher.example', '他们为什么不说中文.cn', 'ليهمابتكلموشعربي؟.eg', '😀.example'])(
  'the host %s is spelled as it was written',
  (host) => {
    const ascii = domainToASCII(host) || `xn--e28h.example`;
    expect(addressOf(`https://${ascii}/`)?.spelled).toBe(domainToUnicode(ascii));
  },
);

// Of a right-to-left override, and of a space.
const odd = ['https://xn--ab-g4t.com/', 'https://xn--ab-1ca.com/'];
test.each(['https://xn--999999999999.com/', 'https://xn--a.com/', ...odd])(
  'a malformed host of %s spells nothing',
  (text) => expect(addressOf(text)?.spelled).toBeUndefined(),
);

test('a person is warned of what an address hides', () => {
  const warnings = (text: string): readonly string[] | undefined => addressOf(text)?.warnings;
  expect(warnings('https://bank.example@evil.example/')).toEqual([
    'The text before the @ is a user name, not the host.',
  ]);
  expect(warnings('http://example.com/')).toEqual(['The connection is not encrypted: others can read what you enter.']);
  expect(warnings('http://localhost:3000/')).toEqual([]);
  expect(warnings('https://example.com/')).toEqual([]);
});

test.each(['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', 'vscode://x/y'])(
  '%s is shown, and not opened',
  (text) => expect(addressOf(text)?.opens).toBe(false),
);

test('text that is no URL is no address', () => {
  expect(addressOf('/login')).toBeUndefined();
});
