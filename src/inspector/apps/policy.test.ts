import { describe, expect, test } from 'vitest';
import { appPolicy } from './policy.ts';

const PLACE = { page: 'http://127.0.0.1:6274', app: 'http://a.localhost:4000', report: '/t/report' };

/** The sources of a directive. */
function rule(header: string, directive: string): string | undefined {
  return header
    .split('; ')
    .find((each) => each.startsWith(`${directive} `))
    ?.slice(directive.length + 1);
}

describe('the policy of an app', () => {
  test.each([undefined, {}, null, 'x', []])('forbids all that is not declared: %j', (csp) => {
    const { header, domains } = appPolicy(csp, PLACE);
    expect(header).toBe(
      [
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        'img-src data:',
        'media-src data:',
        "font-src 'none'",
        "connect-src 'none'",
        "frame-src 'none'",
        "base-uri 'self'",
        "object-src 'none'",
        "form-action 'none'",
        'frame-ancestors http://a.localhost:4000 http://127.0.0.1:6274',
        'sandbox allow-scripts allow-same-origin allow-forms',
        'report-uri /t/report',
      ].join('; '),
    );
    expect(Object.values(domains).flat()).toEqual([]);
  });

  test('allows what is declared, each list in its directives', () => {
    const { header } = appPolicy(
      {
        connectDomains: ['https://api.example.com', 'wss://live.example.com:8443'],
        resourceDomains: ['https://*.cdn.example/'],
        frameDomains: ['https://player.example'],
        baseUriDomains: ['https://base.example'],
      },
      PLACE,
    );
    expect(rule(header, 'connect-src')).toBe('https://api.example.com wss://live.example.com:8443');
    for (const directive of ['script-src', 'style-src'])
      expect(rule(header, directive)).toBe("'unsafe-inline' https://*.cdn.example");
    for (const directive of ['img-src', 'media-src'])
      expect(rule(header, directive)).toBe('data: https://*.cdn.example');
    expect(rule(header, 'font-src')).toBe('https://*.cdn.example');
    expect(rule(header, 'frame-src')).toBe('https://player.example');
    expect(rule(header, 'base-uri')).toBe('https://base.example');
  });

  test.each([
    ['*', 'not an origin'],
    ['https:', 'not an origin'],
    ['data:', 'not an origin'],
    ["'unsafe-eval'", 'not an origin'],
    ["https://a.example; script-src 'unsafe-eval'", 'not an origin'],
    ['https://a.example\r\nset-cookie: x', 'not an origin'],
    ['https://a.example https://b.example', 'not an origin'],
    ['https://a.example,https://b.example', 'not an origin'],
    ['https://a.example/path', 'not an origin'],
    ['https://a.example:*', 'not an origin'],
    ['https://a.*.example', 'not an origin'],
    ['javascript://a.example', 'not an origin'],
    ['', 'not an origin'],
    ['http://127.0.0.1:6274', 'a port of the inspector'],
    ['localhost:4000', 'a port of the inspector'],
    ['http://127.0.0.1:06274', 'a port of the inspector'],
    ['http://*.localhost:4000/', 'a port of the inspector'],
    [7, 'not a string'],
    [null, 'not a string'],
  ])('refuses %j: %s', (domain, refused) => {
    const { header, domains } = appPolicy({ connectDomains: [domain] }, PLACE);
    expect(domains.connectDomains).toMatchObject([{ refused }]);
    expect(rule(header, 'connect-src')).toBe("'none'");
    expect(header).not.toMatch(/[\r\n]/);
  });

  test('refuses the usual port without its number, if the inspector has it', () => {
    const place = { ...PLACE, page: 'http://127.0.0.1' };
    const { header } = appPolicy({ connectDomains: ['127.0.0.1', 'ws://127.0.0.1', 'https://a.example'] }, place);
    expect(rule(header, 'connect-src')).toBe('https://a.example');
  });

  test('allows other ports of this machine, where a developer has a service', () => {
    const { header } = appPolicy({ connectDomains: ['http://localhost:3000', 'http://[::1]:3001'] }, PLACE);
    expect(rule(header, 'connect-src')).toBe('http://localhost:3000 http://[::1]:3001');
  });

  test('takes a hundred domains of a list, and no text in place of a list', () => {
    const many = Array.from({ length: 500 }, (_, at) => `https://a${at}.example`);
    const { domains } = appPolicy({ connectDomains: many, frameDomains: 'https://a.example' }, PLACE);
    expect(domains.connectDomains).toHaveLength(101);
    expect(domains.connectDomains.at(-1)).toMatchObject({ refused: 'only the first 100 count' });
    expect(domains.frameDomains).toEqual([{ domain: 'https://a.example', refused: 'not a list' }]);
  });
});
