/**
 * RSA by the system's OpenSSL, where it has one. The runtime's own crypto library makes about half as
 * many RSA signatures a second on processors with wide vector units, and an RSA signature is a third of
 * what sending an email costs. PKCS #1 v1.5 is deterministic (RFC 8017 §8.2), so that the first signature
 * of every key is compared with the runtime's own: a library that gives another is not used. Signs where
 * it is called, in a quarter of a millisecond: for a thread of its own.
 */
import { dlopen, FFIType, type Pointer, ptr } from "bun:ffi";
import { type KeyObject, sign } from "node:crypto";
import type { RsaSigner } from "./sign.ts";

/** The ABI whose functions are declared below. */
const LIBRARY = "libcrypto.so.3";
const MAX_SIGNATURE_OCTETS = 1_024;
/** Keys kept in the library's form. */
const MAX_KEYS = 1_000;

const SYMBOLS = {
  d2i_AutoPrivateKey: { args: [FFIType.ptr, FFIType.ptr, FFIType.i64], returns: FFIType.ptr },
  EVP_PKEY_free: { args: [FFIType.ptr], returns: FFIType.void },
  EVP_MD_CTX_new: { args: [], returns: FFIType.ptr },
  EVP_MD_CTX_free: { args: [FFIType.ptr], returns: FFIType.void },
  EVP_sha256: { args: [], returns: FFIType.ptr },
  EVP_DigestSignInit: {
    args: [FFIType.ptr, FFIType.ptr, FFIType.ptr, FFIType.ptr, FFIType.ptr],
    returns: FFIType.i32,
  },
  EVP_DigestSign: { args: [FFIType.ptr, FFIType.ptr, FFIType.ptr, FFIType.ptr, FFIType.u64], returns: FFIType.i32 },
} as const;

/** Null where there is no such library. Keys must be RSA private keys. Throws when a signature cannot be made. */
export function openLibcrypto(): RsaSigner | null {
  let symbols: ReturnType<typeof dlopen<typeof SYMBOLS>>["symbols"];
  try {
    ({ symbols } = dlopen(LIBRARY, SYMBOLS));
  } catch {
    return null;
  }
  const known = new Map<KeyObject, Pointer | null>();
  const made = new Uint8Array(MAX_SIGNATURE_OCTETS);
  const length = new BigUint64Array(1);

  function signWith(key: Pointer, input: Uint8Array): Uint8Array | null {
    if (input.length === 0) return null; // it has no address
    const context = symbols.EVP_MD_CTX_new();
    if (context === null) return null;
    try {
      if (symbols.EVP_DigestSignInit(context, null, symbols.EVP_sha256(), null, key) !== 1) return null;
      length[0] = BigInt(made.length);
      const isMade = symbols.EVP_DigestSign(context, ptr(made), ptr(length), ptr(input), BigInt(input.length)) === 1;
      return isMade ? made.slice(0, Number(length[0])) : null;
    } finally {
      symbols.EVP_MD_CTX_free(context);
    }
  }

  /** Null: the library does not sign with this key as the runtime does. */
  function load(key: KeyObject, input: Uint8Array): Pointer | null {
    const der = key.export({ type: "pkcs8", format: "der" });
    // The function moves this pointer on, so it needs a place of its own.
    const at = new BigUint64Array([BigInt(ptr(der))]);
    const loaded = symbols.d2i_AutoPrivateKey(null, ptr(at), der.length) as Pointer | null;
    der.fill(0);
    if (loaded === null) return null;
    const signature = signWith(loaded, input);
    if (signature !== null && Buffer.from(signature).equals(sign("sha256", input, key))) return loaded;
    symbols.EVP_PKEY_free(loaded);
    return null;
  }

  return (input, key) => {
    let loaded = known.get(key);
    if (loaded === undefined) {
      if (known.size >= MAX_KEYS) {
        for (const old of known.values()) if (old !== null) symbols.EVP_PKEY_free(old);
        known.clear();
      }
      loaded = load(key, input);
      known.set(key, loaded);
    }
    return (loaded === null ? null : signWith(loaded, input)) ?? sign("sha256", input, key);
  };
}
