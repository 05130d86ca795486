// Replaces a file of the MCP SDK in the bundle. The original imports a JSON Schema compiler, half of the SDK's size;
// the SDK uses it only for answers to elicitations, which our server never sends.
import own from 'node:process';

export const process = own;

export class DefaultJsonSchemaValidator {
  getValidator() {
    return (data) => ({ valid: true, data, errorMessage: undefined });
  }
}
