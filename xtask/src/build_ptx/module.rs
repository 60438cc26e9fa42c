//! The PTX modules, and which kernels each holds.

use std::path::{Path, PathBuf};

/// A PTX module: the kernels of an op set that a device compiles together.
///
/// A device compiles them when the first of them is launched. The module has two files in `ptx/`. A
/// failing or slow compilation affects these kernels alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Module {
    name: &'static str,
    op_set: &'static str,
}

/// The op sets, each a cargo feature of `kernels-ptx` and one run of its compiler.
pub(super) const OP_SETS: [&str; 13] = [
    "air",
    "circle",
    "channel",
    "correction",
    "deep",
    "factor",
    "fss",
    "linalg",
    "merkle",
    "open",
    "optim",
    "recurrent",
    "tensor",
];

const fn module(name: &'static str, op_set: &'static str) -> Module {
    Module { name, op_set }
}

impl Module {
    pub(super) const ALL: [Self; 20] = [
        module("air", "air"),
        module("circle", "circle"),
        module("channel", "channel"),
        module("correction", "correction"),
        module("deep", "deep"),
        module("factor", "factor"),
        module("fss", "fss"),
        module("fss_bitsliced", "fss"),
        module("linalg_attention", "linalg"),
        module("linalg_elementwise", "linalg"),
        module("linalg_gemm", "linalg"),
        module("linalg_gemm_mma", "linalg"),
        module("linalg_norm", "linalg"),
        module("linalg_softmax", "linalg"),
        module("merkle", "merkle"),
        module("open", "open"),
        module("optim", "optim"),
        module("recurrent", "recurrent"),
        module("recurrent_resident", "recurrent"),
        module("tensor", "tensor"),
    ];

    /// The modules of an op set.
    pub(super) fn of(op_set: &str) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |module| module.op_set == op_set)
    }

    pub(super) const fn name(self) -> &'static str {
        self.name
    }

    /// Whether the kernel of this op set belongs to the module.
    pub(super) fn holds(self, kernel: &str) -> bool {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| kernel.starts_with(prefix));
        let mma = begins(&["linalg_gemm_mma"]);
        let others = ["linalg_attention", "linalg_gemm", "linalg_norm", "linalg_softmax", "linalg_entropy"];
        match self.name {
            "fss" => !kernel.ends_with("_bitsliced"),
            "fss_bitsliced" => kernel.ends_with("_bitsliced"),
            "linalg_attention" => begins(&["linalg_attention"]),
            "linalg_elementwise" => !begins(&others),
            "linalg_gemm" => begins(&["linalg_gemm"]) && !mma,
            "linalg_gemm_mma" => mma,
            "linalg_norm" => begins(&["linalg_norm"]),
            "linalg_softmax" => begins(&["linalg_softmax", "linalg_entropy"]),
            "recurrent" => !kernel.starts_with("recurrent_rssm_resident"),
            "recurrent_resident" => kernel.starts_with("recurrent_rssm_resident"),
            _ => true,
        }
    }

    /// Whether its products of words are of a field, made for each element.
    ///
    /// Elsewhere they are addresses, made once for each thread.
    pub(super) fn computes_in_m31(self) -> bool {
        matches!(self.op_set, "air" | "channel" | "circle" | "deep" | "merkle" | "open")
    }

    pub(super) fn file(self, root: &Path, extension: &str) -> PathBuf {
        root.join("kernels-ptx/ptx").join(format!("{}.{extension}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_one_module() {
        let of = |op_set, kernel: &str| -> Vec<&str> {
            Module::of(op_set).filter(|module| module.holds(kernel)).map(Module::name).collect()
        };
        assert_eq!(of("circle", "circle_twiddles"), ["circle"]);
        assert_eq!(of("channel", "channel_grind"), ["channel"]);
        assert_eq!(of("correction", "correction_apply"), ["correction"]);
        assert_eq!(of("factor", "factor_jacobi"), ["factor"]);
        assert_eq!(of("fss", "fss_cmp_eval_window"), ["fss"]);
        assert_eq!(of("fss", "fss_cmp_eval_window_bitsliced"), ["fss_bitsliced"]);
        assert_eq!(of("linalg", "linalg_attention_many64_f32"), ["linalg_attention"]);
        assert_eq!(of("linalg", "linalg_sum_rows_warp_f32"), ["linalg_elementwise"]);
        assert_eq!(of("linalg", "linalg_gemm_join_f16"), ["linalg_gemm"]);
        assert_eq!(of("linalg", "linalg_gemm_mma64_tt_f16"), ["linalg_gemm_mma"]);
        assert_eq!(of("linalg", "linalg_norm_backward_held_f32"), ["linalg_norm"]);
        assert_eq!(of("linalg", "linalg_entropy_warp_f32"), ["linalg_softmax"]);
        assert_eq!(of("merkle", "merkle_tree"), ["merkle"]);
        assert_eq!(of("open", "open_groups"), ["open"]);
        assert_eq!(of("optim", "optim_adam_f32"), ["optim"]);
        assert_eq!(of("recurrent", "recurrent_gru_forward"), ["recurrent"]);
        assert_eq!(of("recurrent", "recurrent_rssm_resident_f32"), ["recurrent_resident"]);
        assert_eq!(of("tensor", "tensor_map_f32"), ["tensor"]);
    }
}
