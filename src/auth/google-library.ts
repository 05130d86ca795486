import { GoogleAuth, Impersonated, OAuth2Client } from 'google-auth-library';

/** Named exports of Google's library: a bundled CommonJS package has only a default export when loaded lazily. */
export const googleLibrary = { GoogleAuth, Impersonated, OAuth2Client };
