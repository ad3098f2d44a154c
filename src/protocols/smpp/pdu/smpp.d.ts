// What is used of the package, which brings no types.
declare module "smpp" {
  import type { EventEmitter } from "node:events";
  import type { Socket } from "node:net";
  import type { Readable } from "node:stream";

  export interface FieldType {
    default: unknown;
    size(value: never): number;
    /** `length`: of the TLV; undefined for a field of the body. */
    read(bytes: Buffer, offset: number, length: number): unknown;
    write(value: never, bytes: Buffer, offset: number): void;
  }

  export interface Field {
    type: FieldType;
    filter?: unknown;
  }

  export class PDU {
    constructor(command: string | Buffer, fields?: Record<string, unknown>);
    static commandLength: (stream: Readable) => number | false;
    static fromStream: (stream: Readable, length: number) => PDU | false;
    /** `unknown` for an id that no command has. */
    command: string;
    command_id: number;
    command_status: number;
    sequence_number: number;
    toBuffer(): Buffer;
    /** Fields of the body and TLVs by name; unknown TLVs by number. */
    [field: string]: unknown;
  }

  /** Emits `pdu`, `error` and `close`. */
  export class Session extends EventEmitter {
    constructor(options: { socket: Socket });
    pause(): void;
    resume(): void;
    destroy(): void;
  }

  const smpp: {
    Session: typeof Session;
    PDU: typeof PDU;
    commands: Record<string, { params?: Record<string, Field> }>;
    tlvs: Record<string, Field>;
    types: { tlv: { cstring: FieldType; string: FieldType; buffer: FieldType } };
  };
  export default smpp;
}
