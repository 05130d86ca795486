import { GoogleAuth, gaxios, Impersonated, OAuth2Client } from 'google-auth-library';

/**
 * Google's library: half a megabyte, so load this file only for a refresh, a service account or the metadata server. One
 * object, because a bundled CommonJS package has only a default export when it is loaded lazily.
 */
export const googleLibrary = { GoogleAuth, gaxios, Impersonated, OAuth2Client };
