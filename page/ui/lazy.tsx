import type { FunctionComponent, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** A component whose code is loaded when it is first rendered. */
export function lazy<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
): (props: Props) => JSX.Element | null {
  let loaded: FunctionComponent<Props> | undefined;
  return function Lazy(props) {
    const [state, setState] = useState<FunctionComponent<Props> | Error | undefined>(() => loaded);
    useEffect(() => {
      if (state) return;
      load().then(
        (component) => {
          loaded = component;
          setState(() => component);
        },
        () => setState(new Error('This part of the page cannot be loaded, because Everwire does not respond.')),
      );
    }, []);
    if (state instanceof Error)
      return (
        <p class="notice bad" role="alert">
          {state.message}
        </p>
      );
    const Loaded = state;
    return Loaded ? <Loaded {...props} /> : null;
  };
}

/** A screen whose code is loaded when it is first shown. It stays, so that it keeps its state while another one is shown. */
export function lazyScreen<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
): (props: Props & { visible: boolean }) => JSX.Element | null {
  const Screen = lazy(load);
  return function LazyScreen(props) {
    const isSeen = useRef(false);
    isSeen.current ||= props.visible;
    return isSeen.current ? <Screen {...props} /> : null;
  };
}
