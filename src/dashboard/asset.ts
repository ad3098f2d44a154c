// A file of the dashboard as a browser gets it, and all of one build.

export interface Asset {
  type: string;
  raw: Uint8Array;
  br: Uint8Array;
  gzip: Uint8Array;
}

export interface AssetFile extends Asset {
  name: string;
}

export interface Assets {
  /** A hash of all files. Each file has it in its address, so a browser may keep the file for good. */
  version: string;
  files: AssetFile[];
}
