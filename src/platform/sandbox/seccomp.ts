/**
 * A filter of system calls, as the kernel takes it: https://docs.kernel.org/userspace-api/seccomp_filter.html. The namespaces confine a
 * command already; this removes what would reach past them (keys of the user's sessions, other processes' memory), and what attacks on
 * the kernel begin with.
 */
const DENIED = {
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  process_madvise: { x64: 440, arm64: 440 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  kcmp: { x64: 312, arm64: 272 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
  delete_module: { x64: 176, arm64: 106 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  pivot_root: { x64: 155, arm64: 41 },
  open_tree: { x64: 428, arm64: 428 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  open_tree_attr: { x64: 467, arm64: 467 },
  setns: { x64: 308, arm64: 268 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  reboot: { x64: 169, arm64: 142 },
  acct: { x64: 163, arm64: 89 },
  quotactl: { x64: 179, arm64: 60 },
  syslog: { x64: 103, arm64: 116 },
  settimeofday: { x64: 164, arm64: 170 },
  clock_settime: { x64: 227, arm64: 112 },
} as const satisfies Readonly<Record<string, Readonly<Record<Machine, number>>>>;

type Machine = 'x64' | 'arm64';

/**
 * Calls that give a file its mode, with the places of their arguments. A program with the set-user-id or set-group-id bit stays when nothing is
 * confined any more, and runs as its owner whoever starts it. Where there are flags, the mode counts for new files only.
 */
const MODES: readonly {
  readonly numbers: Readonly<Partial<Record<Machine, number>>>;
  readonly mode: number;
  readonly flags?: number;
}[] = [
  { numbers: { x64: 90 }, mode: 1 }, // chmod
  { numbers: { x64: 91, arm64: 52 }, mode: 1 }, // fchmod
  { numbers: { x64: 268, arm64: 53 }, mode: 2 }, // fchmodat
  { numbers: { x64: 452, arm64: 452 }, mode: 2 }, // fchmodat2
  { numbers: { x64: 85 }, mode: 1 }, // creat
  { numbers: { x64: 133 }, mode: 1 }, // mknod
  { numbers: { x64: 259, arm64: 33 }, mode: 2 }, // mknodat
  { numbers: { x64: 2 }, mode: 2, flags: 1 }, // open
  { numbers: { x64: 257, arm64: 56 }, mode: 3, flags: 2 }, // openat
];

/** Its mode is in memory, where no filter looks; programs that know it fall back to `openat` where it is missing. */
const OPENAT2 = 437;

const PRIVILEGED_BITS = 0o6000;
const CREATING_FLAGS = 0x40 /* O_CREAT */ | 0x400000; /* __O_TMPFILE */

const MACHINES: Readonly<Record<Machine, { readonly arch: number; readonly ioctl: number; readonly socket: number }>> =
  {
    x64: { arch: 0xc000003e, ioctl: 16, socket: 41 },
    arm64: { arch: 0xc00000b7, ioctl: 29, socket: 198 },
  };

/** They type into the terminal that gmn runs in. */
const TERMINAL_REQUESTS = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];
const AF_UNIX = 1;
/** Those that belong to a network namespace, and need no capability: unix, IPv4, IPv6, netlink. Of the others some reach the host of a virtual machine. */
const FAMILIES = [AF_UNIX, 2, 10, 16];
/** Calls of the x32 form have this bit; nobody needs them, and they have numbers of their own. */
const X32_BIT = 0x40000000;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_IF_ANY = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const REFUSE = 0x00050001; // ERRNO | EPERM
const NO_FAMILY = 0x00050061; // ERRNO | EAFNOSUPPORT
const MISSING = 0x00050026; // ERRNO | ENOSYS

/** Offsets in `struct seccomp_data`; of an argument, the lower half. */
const NUMBER = 0;
const ARCH = 4;
const toArgument = (index: number): number => 16 + 8 * index;

export interface FilterOptions {
  /** Also refuses unix sockets, but for pairs: without a network of its own, a command would reach the abstract ones of the host. */
  readonly refusesUnixSockets: boolean;
}

/** Undefined for a machine whose numbers are not known here. */
export function createSeccompFilter({ refusesUnixSockets }: FilterOptions, machine: string): Uint8Array | undefined {
  if (machine !== 'x64' && machine !== 'arm64') return undefined;
  const { arch, ioctl, socket } = MACHINES[machine];
  const refuse: Instruction = [RETURN, 0, 0, REFUSE];
  const allow: Instruction = [RETURN, 0, 0, ALLOW];
  const program: readonly Instruction[] = [
    [LOAD, 0, 0, ARCH],
    [JUMP_EQUAL, 1, 0, arch],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER],
    ...(machine === 'x64' ? ([[JUMP_AT_LEAST, 0, 1, X32_BIT], refuse] as const) : []),
    ...Object.values(DENIED).flatMap((numbers): readonly Instruction[] => [
      [JUMP_EQUAL, 0, 1, numbers[machine]],
      refuse,
    ]),
    [JUMP_EQUAL, 0, 1, OPENAT2],
    [RETURN, 0, 0, MISSING],
    // Each of these blocks ends the program, and is skipped for other calls.
    ...MODES.flatMap(({ numbers, mode, flags }): readonly Instruction[] => {
      const number = numbers[machine];
      if (number === undefined) return [];
      const check: readonly Instruction[] = [
        [LOAD, 0, 0, toArgument(mode)],
        [JUMP_IF_ANY, 0, 1, PRIVILEGED_BITS],
        refuse,
        allow,
      ];
      if (flags === undefined) return [[JUMP_EQUAL, 0, check.length, number], ...check];
      return [
        [JUMP_EQUAL, 0, check.length + 3, number],
        [LOAD, 0, 0, toArgument(flags)],
        [JUMP_IF_ANY, 1, 0, CREATING_FLAGS],
        allow,
        ...check,
      ];
    }),
    [JUMP_EQUAL, 0, 2 * TERMINAL_REQUESTS.length + 2, ioctl],
    [LOAD, 0, 0, toArgument(1)],
    ...TERMINAL_REQUESTS.flatMap((value): readonly Instruction[] => [[JUMP_EQUAL, 0, 1, value], refuse]),
    allow,
    [JUMP_EQUAL, 0, 2 * FAMILIES.length + 2, socket],
    [LOAD, 0, 0, toArgument(0)],
    ...FAMILIES.flatMap((family): readonly Instruction[] => [
      [JUMP_EQUAL, 0, 1, family],
      family === AF_UNIX && refusesUnixSockets ? refuse : allow,
    ]),
    [RETURN, 0, 0, NO_FAMILY],
    allow,
  ];
  return encode(program);
}

/** Operation, how many instructions to skip if it holds and if not, and its value. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** `struct sock_filter`, in the order of bytes of both machines. */
function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(8 * program.length);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * index);
    bytes.writeUInt8(ifTrue, 8 * index + 2);
    bytes.writeUInt8(ifFalse, 8 * index + 3);
    bytes.writeUInt32LE(value >>> 0, 8 * index + 4);
  }
  return bytes;
}
