import { GoogleAuth, Impersonated, OAuth2Client } from 'google-auth-library';

/** What gmn uses of Google's library; by name, because a bundled CommonJS package has only a default export when lazy. */
export const googleLibrary = { GoogleAuth, Impersonated, OAuth2Client };
