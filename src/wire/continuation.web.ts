/** Replaces `continuation.ts` in workers. There, nothing that a request has begun goes on after its response. */
export const CAN_CONTINUE = false;
