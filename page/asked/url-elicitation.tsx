import type { JSX } from 'preact';
import { AddressLink } from '../connect/address-link.tsx';
import { Message, Refusals, type QuestionProps } from './questions.tsx';

/** A URL that the server asks the user to open. Opening it accepts the request. */
export function UrlElicitation({ question, onanswer }: QuestionProps): JSX.Element {
  const { params } = question;
  return (
    <>
      <Message params={params} />
      <AddressLink
        url={String(params['url'])}
        action="Open and accept"
        onopen={() => onanswer({ result: { action: 'accept' } })}
      />
      <Refusals onanswer={onanswer} />
    </>
  );
}
