import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { Visible, visible } from '../ui/visible.tsx';
import { bytesOf, rasterType, save } from './bytes.ts';
import { sizeText } from '../wire/format.ts';
import { Text } from './text.tsx';

interface BinaryProps {
  readonly base64: string;
  /** For the file. */
  readonly name: string;
  readonly mimeType?: string | undefined;
}

/** Bytes. Raster images are shown, and sounds are played, from blobs. Everything else can only be saved. */
export function Binary({ base64, name, mimeType = '' }: BinaryProps): JSX.Element {
  const bytes = useMemo(() => bytesOf(base64), [base64]);
  const raster = bytes && rasterType(bytes);
  const type = raster ?? (/^audio\/[\w.+-]+$/.test(mimeType) ? mimeType : undefined);
  const url = useBlobUrl(bytes, type);
  if (!bytes) {
    return (
      <>
        <p class="notice bad">The data is not valid base64.</p>
        <Text text={base64} />
      </>
    );
  }
  return (
    <>
      {url === undefined && <p class="soft">{whyNotShown(mimeType)}</p>}
      {url !== undefined && raster !== undefined && <img src={url} alt={visible(`From the server: ${name}`)} />}
      {url !== undefined && raster === undefined && <audio src={url} controls aria-label={visible(name)} />}
      <p class="toolbar">
        <button type="button" onClick={() => save(new Blob([bytes]), name)}>
          Save
        </button>
        <span class="soft">
          {sizeText(bytes.length)} <Visible text={mimeType} />
        </span>
      </p>
    </>
  );
}

/** A URL for bytes, valid while they are shown. */
function useBlobUrl(bytes: Uint8Array<ArrayBuffer> | undefined, type: string | undefined): string | undefined {
  const url = useMemo(
    () => (bytes && type !== undefined ? URL.createObjectURL(new Blob([bytes], { type })) : undefined),
    [bytes, type],
  );
  useEffect(
    () => () => {
      if (url !== undefined) URL.revokeObjectURL(url);
    },
    [url],
  );
  return url;
}

function whyNotShown(mimeType: string): string {
  if (/svg|html|xml/i.test(mimeType)) return 'This type can run scripts, so it is not shown. Save it to look at it.';
  return mimeType.startsWith('image/') ? 'This is not a PNG, JPEG, GIF or WebP image.' : 'Binary data.';
}
