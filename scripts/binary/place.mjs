/** What `__dirname` is in the executable: as seen from bin/gmn.js, the texts are in ../dist. */
export const __dirname = `${import.meta.dir}/bin`;
