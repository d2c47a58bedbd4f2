/** The part of `everwire/auth` for pages: access tokens for clients. */
export { authorizedFetch } from './client/authorized-fetch.ts';
export { logOut } from './client/lazy-log-out.ts';
export { oauth } from './client/lazy-oauth.ts';
export { OAuthError } from './client/oauth-error.ts';
export { pageRedirect } from './client/page-redirect.ts';
export { finishLogin, popupRedirect } from './client/popup-redirect.ts';
export { customRedirect } from './client/redirect.ts';
export { MemoryTokenStore } from './client/token-store.ts';
export { WebTokenStore } from './client/web-token-store.ts';
