/** Whether what a request has begun can go on after its response, such as a handler that waits for answers. */
export const CAN_CONTINUE = true;
