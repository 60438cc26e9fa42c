//! Round constants of Poseidon2 over Mersenne-31 with sixteen words.
//!
//! Plonky3 publishes them. They are made by the Grain LFSR with field type 1, S-box `x^5`, 31 bits,
//! 16 words, 8 full and 14 partial rounds.

use core_types::field::M31;

use super::WIDTH;

/// Constants of the full rounds before the partial ones.
pub(super) const INITIAL: [[M31; WIDTH]; 4] = [
    words([
        0x768b_ab52,
        0x70e0_ab7d,
        0x3d26_6c8a,
        0x6da4_2045,
        0x600f_ef22,
        0x41da_ce6b,
        0x64f9_bdd4,
        0x5d42_d4fe,
        0x76b1_516d,
        0x6fc9_a717,
        0x70ac_4fb6,
        0x0019_4ef6,
        0x22b6_44e2,
        0x1f79_16d5,
        0x4758_1be2,
        0x2710_a123,
    ]),
    words([
        0x6284_e867,
        0x018d_3afe,
        0x5df9_9ef3,
        0x4c1e_467b,
        0x566f_6abc,
        0x2994_e427,
        0x538a_6d42,
        0x5d7b_f2cf,
        0x7fda_2dab,
        0x0fd8_54c4,
        0x4692_2fca,
        0x3d77_63a1,
        0x19fd_05ca,
        0x0a4b_bb43,
        0x1507_5851,
        0x3d90_3d76,
    ]),
    words([
        0x2d29_0ff7,
        0x4080_9fa0,
        0x59da_c6ec,
        0x1279_27a2,
        0x6bbf_0ea0,
        0x0294_140f,
        0x2474_2976,
        0x6e84_c081,
        0x2248_4f4a,
        0x354c_ae59,
        0x0453_ffe1,
        0x3f47_a3cc,
        0x0088_204e,
        0x6066_e109,
        0x3b7c_4b80,
        0x6b55_665d,
    ]),
    words([
        0x3bc4_b897,
        0x735b_f378,
        0x508d_af42,
        0x1884_fc2b,
        0x7214_f24c,
        0x7498_be0a,
        0x1a60_e640,
        0x3303_f928,
        0x29b4_6376,
        0x5c96_bb68,
        0x65d0_97a5,
        0x1d35_8e9f,
        0x4a9a_9017,
        0x4724_cf76,
        0x347a_f70f,
        0x1e77_e59a,
    ]),
];

/// Constants of the partial rounds, for the first word.
pub(super) const PARTIAL: [M31; 14] = words([
    0x7f7e_c4bf,
    0x0421_926f,
    0x5198_e669,
    0x34db_3148,
    0x4368_bafd,
    0x6668_5c7f,
    0x78d3_249a,
    0x6018_7881,
    0x76da_d67a,
    0x0690_b437,
    0x1ea9_5311,
    0x40e5_369a,
    0x38f1_03fc,
    0x1d22_6a21,
]);

/// Constants of the full rounds after the partial ones.
pub(super) const TERMINAL: [[M31; WIDTH]; 4] = [
    words([
        0x5709_0613,
        0x1fa4_2108,
        0x17bb_ef50,
        0x1ff7_e11c,
        0x047b_24ca,
        0x4e14_0275,
        0x4fa0_86f5,
        0x079b_309c,
        0x1159_bd47,
        0x6d37_e4e5,
        0x075d_8dce,
        0x1212_1ca0,
        0x7f6a_7c40,
        0x68e1_82ba,
        0x5493_201b,
        0x0444_a80e,
    ]),
    words([
        0x0064_f4c6,
        0x6467_abe6,
        0x6697_5762,
        0x2af6_8f9b,
        0x345b_33be,
        0x1b70_d47f,
        0x053d_b717,
        0x3811_89cb,
        0x43b9_15f8,
        0x20df_3694,
        0x0f45_9d26,
        0x77a0_e97b,
        0x2f73_e739,
        0x1876_c2f9,
        0x65a0_e29a,
        0x4cab_efbe,
    ]),
    words([
        0x5abd_1268,
        0x4d34_a760,
        0x1277_1799,
        0x69a0_c9ac,
        0x3909_1e55,
        0x7f61_1cd0,
        0x3af0_55da,
        0x7ac0_bbdf,
        0x6e0f_3a24,
        0x41e3_b6f7,
        0x49b3_756d,
        0x568b_c538,
        0x20c0_79d8,
        0x1701_c72c,
        0x7670_dc6c,
        0x5a43_9035,
    ]),
    words([
        0x7c93_e00e,
        0x561f_bb4d,
        0x1178_907b,
        0x0273_7406,
        0x32fb_24f1,
        0x6323_b60a,
        0x6ab1_2418,
        0x42c9_9cea,
        0x155a_0b97,
        0x53d1_c6aa,
        0x2bd2_0347,
        0x279b_3d73,
        0x4f5f_3c70,
        0x0245_af6c,
        0x2383_59d3,
        0x4996_6a59,
    ]),
];

const fn words<const N: usize>(words: [u32; N]) -> [M31; N] {
    let mut elements = [M31::ZERO; N];
    let mut k = 0;
    while k < N {
        elements[k] = M31::from_u32(words[k]);
        k += 1;
    }
    elements
}
