export function explainLimit(file: string, name: string): string | undefined;
