import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isSavedName, MAX_SAVED_NAME, SAVED_METHODS } from '../../src/inspect/page-server/saved-name.ts';
import { Dialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import type { Explorer, Session } from './explorer.ts';
import type { Sent } from './request.ts';

interface SaveCallProps {
  readonly explorer: Explorer;
  readonly session: Session;
  readonly sent: Sent;
  /** Of the tool, the prompt or the resource. */
  readonly name: string;
}

/** A button that saves a call in the file of saved calls. */
export function SaveCall({ explorer, session, sent, name }: SaveCallProps): JSX.Element | null {
  const isOpen = useSignal(false);
  const { saved } = explorer.state.value;
  if (!saved || !(SAVED_METHODS as readonly string[]).includes(sent.method)) return null;
  const close = (): void => {
    isOpen.value = false;
  };
  return (
    <>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        Save call
      </button>
      {isOpen.value && (
        <Dialog title="Save the call" onclose={close}>
          <SaveForm session={session} sent={sent} name={name} file={saved.file} onsaved={close} />
        </Dialog>
      )}
    </>
  );
}

interface SaveFormProps extends Omit<SaveCallProps, 'explorer'> {
  readonly file: string;
  readonly onsaved: () => void;
}

function SaveForm({ session, sent, name, file, onsaved }: SaveFormProps): JSX.Element {
  const written = useSignal(suggested(name));
  const problem = useSignal<string | undefined>(undefined);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current!.select(), []);
  const text = written.value.trim();
  const exists = session.saved.calls.value?.some((call) => call.name === text) === true;
  const save = async (): Promise<void> => {
    if (!isSavedName(text)) {
      problem.value = `Write a name: one line of at most ${MAX_SAVED_NAME} characters.`;
      return;
    }
    try {
      await session.saved.save(text, sent, exists);
      toast(`Saved “${text}” in ${file}`);
      onsaved();
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  return (
    <form
      class="save-call"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label>
        Name
        <input
          ref={input}
          type="text"
          maxLength={MAX_SAVED_NAME}
          value={written.value}
          aria-invalid={problem.value !== undefined}
          aria-describedby="save-call-note"
          onInput={({ currentTarget }) => {
            written.value = currentTarget.value;
            problem.value = undefined;
          }}
        />
      </label>
      <p class="soft" id="save-call-note">
        The arguments are written to <code>{file}</code>, without headers. The file can be committed: check that no
        argument is a secret.
      </p>
      {problem.value !== undefined && (
        <p class="notice bad" role="alert">
          <Visible text={problem.value} />
        </p>
      )}
      <p class="toolbar">
        <button type="submit" class="primary">
          {exists ? 'Replace' : 'Save'}
        </button>
        {exists && <span class="soft">There is already a saved call with this name.</span>}
      </p>
    </form>
  );
}

/** A name that can be saved, made of one of the server. */
function suggested(name: string): string {
  return name.replaceAll(/\p{C}/gu, '').trim().slice(0, MAX_SAVED_NAME).trim();
}
