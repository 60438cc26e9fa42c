"""AES-128 (FIPS 197), ChaCha20 as a generator (RFC 8439 with a 64-bit counter), PCG32 and BLAKE3, in plain Python.

Slow and not constant-time: for test vectors only.
"""

import struct

MASK32 = 2**32 - 1
MASK64 = 2**64 - 1
MASK128 = 2**128 - 1


def _xtime(x):
    return (x << 1) ^ (0x11B if x & 0x80 else 0)


def _gf_mul(a, b):
    product = 0
    while b:
        if b & 1:
            product ^= a
        a, b = _xtime(a), b >> 1
    return product


def _sbox():
    box = []
    for x in range(256):
        inverse = next((y for y in range(256) if _gf_mul(x, y) == 1), 0)
        y = 0
        for turn in range(5):  # the affine map: the sum of the inverse turned left by 0 to 4 bits, and 0x63
            y ^= (inverse << turn | inverse >> (8 - turn)) & 0xFF
        box.append(y ^ 0x63)
    return box


SBOX = _sbox()
TIMES_2 = [_gf_mul(x, 2) for x in range(256)]
TIMES_3 = [_gf_mul(x, 3) for x in range(256)]
SHIFT_ROWS = [(i + 4 * (i % 4)) % 16 for i in range(16)]


class Aes:
    """AES-128 on 128-bit little-endian integers, under a key of 16 bytes."""

    def __init__(self, key):
        words, rcon = [list(key[i : i + 4]) for i in range(0, 16, 4)], 1
        for i in range(4, 44):
            word = words[i - 1]
            if i % 4 == 0:
                word = [SBOX[b] for b in word[1:] + word[:1]]
                word[0] ^= rcon
                rcon = _xtime(rcon)
            words.append([a ^ b for a, b in zip(words[i - 4], word)])
        self.rounds = [sum(words[i : i + 4], []) for i in range(0, 44, 4)]

    def encrypt(self, block):
        state = [a ^ b for a, b in zip(block.to_bytes(16, "little"), self.rounds[0])]
        for index, key in enumerate(self.rounds[1:], 1):
            state = [SBOX[state[i]] for i in SHIFT_ROWS]
            if index < 10:
                mixed = []
                for column in range(0, 16, 4):
                    a, b, c, d = state[column : column + 4]
                    mixed += [
                        TIMES_2[a] ^ TIMES_3[b] ^ c ^ d,
                        a ^ TIMES_2[b] ^ TIMES_3[c] ^ d,
                        a ^ b ^ TIMES_2[c] ^ TIMES_3[d],
                        TIMES_3[a] ^ b ^ c ^ TIMES_2[d],
                    ]
                state = mixed
            state = [a ^ b for a, b in zip(state, key)]
        return int.from_bytes(bytes(state), "little")


def _rotl32(x, n):
    return (x << n | x >> (32 - n)) & MASK32


def _chacha_block(key, counter):
    start = list(struct.unpack("<4I", b"expand 32-byte k")) + key + [counter & MASK32, counter >> 32, 0, 0]
    x = list(start)

    def quarter(a, b, c, d):
        for to, by, other, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = (x[to] + x[by]) & MASK32
            x[other] = _rotl32(x[other] ^ x[to], turn)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return [(a + b) & MASK32 for a, b in zip(x, start)]


class Stream:
    """The key stream of ChaCha20 as 32-bit words, in order. The key is eight outputs of PCG32 from a 64-bit seed."""

    def __init__(self, seed):
        key = []
        for _ in range(8):
            seed = (seed * 0x5851F42D4C957F2D + 0xA17654E46FBE17F3) & MASK64
            shifted = ((seed >> 18 ^ seed) >> 27) & MASK32
            key.append(_rotl32(shifted, (32 - (seed >> 59)) % 32))
        self.key, self.counter, self.words = key, 0, []

    def u32(self):
        if not self.words:
            self.words = _chacha_block(self.key, self.counter)
            self.counter += 1
        return self.words.pop(0)

    def u64(self):
        """The word drawn first is the low half."""
        return self.u32() | self.u32() << 32

    def bytes16(self):
        return struct.pack("<4I", *(self.u32() for _ in range(4)))


_IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
_PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
_CHUNK_START, _CHUNK_END, _PARENT, _ROOT = 1, 2, 4, 8


def _compress(chain, block, counter, length, flags):
    v = chain + _IV[:4] + [counter & MASK32, counter >> 32, length, flags]
    m = list(block)

    def g(a, b, c, d, x, y):
        for word, first, second in ((x, 16, 12), (y, 8, 7)):
            v[a] = (v[a] + v[b] + word) & MASK32
            v[d] = _rotl32(v[d] ^ v[a], 32 - first)
            v[c] = (v[c] + v[d]) & MASK32
            v[b] = _rotl32(v[b] ^ v[c], 32 - second)

    for _ in range(7):
        for i in range(4):
            g(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            g(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i])
        m = [m[i] for i in _PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)]


def _blake3_node(data, first_chunk, root):
    """The chaining value of a subtree; `root` is the flag of the last compression of all."""
    if len(data) <= 1024:
        chain, blocks = _IV, [data[i : i + 64] for i in range(0, len(data), 64)] or [b""]
        for index, block in enumerate(blocks):
            flags = _CHUNK_START if index == 0 else 0
            if index == len(blocks) - 1:
                flags |= _CHUNK_END | root
            words = struct.unpack("<16I", block.ljust(64, b"\0"))
            chain = _compress(chain, words, first_chunk, len(block), flags)
        return chain
    left = 1024
    while 2 * left < len(data):
        left *= 2
    children = _blake3_node(data[:left], first_chunk, 0) + _blake3_node(data[left:], first_chunk + left // 1024, 0)
    return _compress(_IV, children, 0, 64, _PARENT | root)


def blake3(data):
    """The hash of 32 bytes."""
    return struct.pack("<8I", *_blake3_node(data, 0, _ROOT))


def self_test():
    """Published vectors."""
    key = bytes(range(16))
    block = int.from_bytes(bytes.fromhex("00112233445566778899aabbccddeeff"), "little")
    assert Aes(key).encrypt(block).to_bytes(16, "little").hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"  # FIPS 197, C.1
    first = struct.pack("<16I", *_chacha_block([0] * 8, 0))
    assert first.hex().startswith("76b8e0ada0f13d90405d6ae55386bd28")  # RFC 8439, A.1, vector 1
    assert blake3(b"").hex() == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
