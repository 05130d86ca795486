// A sign-in as a process of its own, for tests with many of them at once.
import { signIn } from './sign-in.ts';

const { exitCode, result } = await signIn(process.env);
process.exitCode = exitCode;
process.stdout.write(JSON.stringify(result));
