//! The S-box of AES as a Boolean circuit.

use super::Plane;

/// SubBytes in each place: 32 ands, 81 exclusive ors and 4 negations.
///
/// The circuit of 113 gates after Boyar, Matthews and Peralta, "Logic Minimization Techniques with
/// Applications to Cryptology", 2013: inversion in the field of 256 elements reduces to inversion
/// in its subfield of 16 elements, between two linear layers. The first layer writes the byte in
/// the basis of the tower of fields, with the sums that both multiplications by it need; the last
/// returns to the basis of AES and applies its affine map.
#[inline]
pub fn sub_bytes<P: Plane>([x7, x6, x5, x4, x3, x2, x1, x0]: [P; 8]) -> [P; 8] {
    // the first linear layer
    let (y14, y13, y9, y8) = (x3 ^ x5, x0 ^ x6, x0 ^ x3, x0 ^ x5);
    let t0 = x1 ^ x2;
    let y1 = t0 ^ x7;
    let (y4, y2, y5) = (y1 ^ x3, y1 ^ x0, y1 ^ x6);
    let (y12, y3) = (y13 ^ y14, y5 ^ y8);
    let t1 = x4 ^ y12;
    let (y15, y20) = (t1 ^ x5, t1 ^ x1);
    let (y6, y10) = (y15 ^ x7, y15 ^ t0);
    let y11 = y20 ^ y9;
    let (y7, y17, y19, y16) = (x7 ^ y11, y10 ^ y11, y10 ^ y8, t0 ^ y11);
    let (y21, y18) = (y13 ^ y16, x0 ^ y16);

    // the norm, in the field of 16
    let (m2, m7, m12) = (y12 & y15, y13 & y16, y9 & y11);
    let (m4, m6) = ((y3 & y6) ^ m2, (y4 & x7) ^ m2);
    let (m9, m11) = ((y5 & y1) ^ m7, (y2 & y7) ^ m7);
    let (m14, m16) = ((y14 & y17) ^ m12, (y8 & y10) ^ m12);
    let (n0, n1) = (m4 ^ m14 ^ y20, m6 ^ m16 ^ y19);
    let (n2, n3) = (m9 ^ m14 ^ y21, m11 ^ m16 ^ y18);

    // its inverse
    let (upper, lower, cross) = (n0 ^ n1, n2 ^ n3, n0 & n2);
    let folded = n3 ^ cross;
    let v1 = (upper & folded) ^ n1;
    let v3 = ((n1 ^ cross) & lower) ^ n3;
    let twice = n3 & (folded ^ v3);
    let v2 = twice ^ n2 ^ v3;
    let v0 = upper ^ (v1 & (folded ^ twice));
    let (w1, w2, w3, w4) = (v0 ^ v2, v1 ^ v3, v1 ^ v0, v3 ^ v2);
    let w5 = w2 ^ w1;

    // the products of that with the byte
    let (z0, z1, z2, z3, z4, z5) = (w4 & y15, v2 & y6, v3 & x7, w3 & y16, v0 & y1, v1 & y7);
    let (z6, z7, z8, z9, z10, z11) = (w2 & y11, w5 & y17, w1 & y10, w4 & y12, v2 & y3, v3 & y4);
    let (z12, z13, z14, z15, z16, z17) = (w3 & y13, v0 & y5, v1 & y2, w2 & y9, w5 & y14, w1 & y8);

    // the last linear layer
    let c1 = z15 ^ z16;
    let c2 = z10 ^ c1;
    let (c3, c4, c6) = (z9 ^ c2, z0 ^ z2, z3 ^ z4);
    let c8 = z7 ^ c6;
    let c10 = c8 ^ z8 ^ z12 ^ c4;
    let c14 = c4 ^ z3 ^ z5;
    let c16 = z6 ^ c8;
    let c17 = z14 ^ c10;
    let c18 = z13 ^ c1 ^ c14;
    let s3 = c3 ^ c6 ^ z1 ^ z0;
    let (s0, s1, s4) = (c3 ^ c16, !(s3 ^ c16), c14 ^ s3);
    let (s2, s5) = (!(c17 ^ z15 ^ c16 ^ z17), c2 ^ z11 ^ c17);
    let (s6, s7) = (!(c10 ^ c18), !(z12 ^ c18));
    [s7, s6, s5, s4, s3, s2, s1, s0]
}
