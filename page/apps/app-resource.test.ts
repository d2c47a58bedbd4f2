import { describe, expect, test } from 'vitest';
import { appIn, appUriOf, isForApps, isForModels } from './app-resource.ts';

const TYPE = 'text/html;profile=mcp-app';
const nothing = async (): Promise<undefined> => undefined;

describe('tools', () => {
  test.each([
    [{ ui: { resourceUri: 'ui://a' } }, 'ui://a'],
    [{ 'ui/resourceUri': 'ui://b' }, 'ui://b'],
    [{ ui: { resourceUri: 'ui://a' }, 'ui/resourceUri': 'ui://b' }, 'ui://a'],
    [{ ui: { resourceUri: 'https://a' } }, undefined],
    [{ ui: { resourceUri: 1 } }, undefined],
    [{ ui: null }, undefined],
    [undefined, undefined],
  ])('the app of %j is %s', (_meta, uri) => {
    expect(appUriOf({ name: 'x', _meta })).toBe(uri);
  });

  test.each([
    [undefined, true, true],
    [['model', 'app'], true, true],
    [['app'], true, false],
    [['model'], false, true],
    [[], false, false],
    ['app', false, false],
    [null, false, false],
  ])('the visibility %j is for apps: %s, for models: %s', (visibility, apps, models) => {
    const tool = { name: 'x', _meta: { ui: { visibility } } };
    expect([isForApps(tool), isForModels(tool)]).toEqual([apps, models]);
  });
});

describe('resources', () => {
  test('the document is a text or base64, with the settings of the content', async () => {
    const content = { uri: 'ui://a', mimeType: TYPE, _meta: { ui: { csp: { connectDomains: ['https://a'] } } } };
    const listed = async (): Promise<never> => Promise.reject(new Error('not needed'));
    const csp = { connectDomains: ['https://a'] };
    expect(await appIn({ contents: [{ ...content, text: 'ä' }] }, listed)).toEqual({ html: 'ä', csp, permissions: [] });
    const blob = Buffer.from('ä').toString('base64');
    expect((await appIn({ contents: [{ ...content, blob }] }, listed)).html).toBe('ä');
  });

  test('without settings, those of the list count', async () => {
    const contents = [{ uri: 'ui://a', mimeType: TYPE, text: 'x' }];
    const settings = { csp: { frameDomains: ['https://b'] }, permissions: { camera: {}, geolocation: {} } };
    expect(await appIn({ contents }, async () => ({ _meta: { ui: settings } }))).toEqual({
      html: 'x',
      csp: settings.csp,
      permissions: ['camera', 'geolocation'],
    });
    expect(await appIn({ contents }, nothing)).toEqual({ html: 'x', csp: undefined, permissions: [] });
  });

  test.each([
    [{}, 'The resource has no content.'],
    [{ contents: [] }, 'The resource has no content.'],
    [{ contents: [{ text: 'x' }] }, `The type of the resource is missing, and not "${TYPE}".`],
    [
      { contents: [{ mimeType: 'text/html', text: 'x' }] },
      `The type of the resource is "text/html", and not "${TYPE}".`,
    ],
    [{ contents: [{ mimeType: TYPE }] }, 'The resource has neither a text nor a valid blob.'],
    [{ contents: [{ mimeType: TYPE, blob: '*' }] }, 'The resource has neither a text nor a valid blob.'],
  ])('%j is no app', async (result, message) => {
    await expect(appIn(result, nothing)).rejects.toThrow(message);
  });
});
