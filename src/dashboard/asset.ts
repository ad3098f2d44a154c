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
  /** Of all files together: their addresses hold it, so that a browser keeps them for good. */
  version: string;
  files: AssetFile[];
}
