// Stands in for a file of the MCP SDK when it is bundled. Its own brings in a compiler of JSON Schemas, half of the whole;
// the SDK would ask it only about answers of a person, and our server never asks a person anything.
import own from 'node:process';

export const process = own;

export class DefaultJsonSchemaValidator {
  getValidator() {
    return (data) => ({ valid: true, data, errorMessage: undefined });
  }
}
