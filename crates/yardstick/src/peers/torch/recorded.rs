//! Times of PyTorch for machines without it.

use std::time::Duration;

use crate::Contender;

/// The processor of the recorded times.
const PROCESSOR: &str = "EPYC, family 26 model 2";

/// Of PyTorch 2.15.0, one thread with AVX-512: picoseconds for a unit of a line, medians.
const RATES: [(&str, f64); 47] = [
    ("nn.adam_w/4194304", 20.15),
    ("nn.add", 24.12),
    ("nn.add_row", 19.61),
    ("nn.bptt_step", 18.95),
    ("nn.cross_entropy", 258.04),
    ("nn.dropout", 731.45),
    ("nn.encode_state", 16.42),
    ("nn.encode_state/4096", 11.27),
    ("nn.gelu", 184.22),
    ("nn.gelu_backward", 134.41),
    ("nn.gelu_bf16", 399.61),
    ("nn.gelu_erf", 55.19),
    ("nn.gru/128x256", 14.79),
    ("nn.layer_norm", 40.60),
    ("nn.layer_norm_backward", 41.97),
    ("nn.layer_norm_bf16", 91.75),
    ("nn.log_softmax", 82.96),
    ("nn.matmul/1024", 10.90),
    ("nn.matmul/128", 11.93),
    ("nn.matmul/1x512x256", 25.64),
    ("nn.matmul/256", 11.12),
    ("nn.matmul/32x256x512", 12.60),
    ("nn.matmul/512", 10.68),
    ("nn.matmul_bf16/1024", 2.46),
    ("nn.matmul_bf16/128", 5.38),
    ("nn.matmul_bf16/256", 2.75),
    ("nn.matmul_bf16/512", 2.41),
    ("nn.matmul_f16/512", 437.07),
    ("nn.matmul_nt/512", 10.90),
    ("nn.matmul_nt_bf16/256", 2.72),
    ("nn.matmul_tn/512", 10.79),
    ("nn.mlp_step", 12.97),
    ("nn.relu", 25.22),
    ("nn.rms_norm", 105.47),
    ("nn.rssm_rollout/64x256", 20.77),
    ("nn.sigmoid", 35.61),
    ("nn.silu", 48.69),
    ("nn.softmax", 111.37),
    ("nn.softmax_backward", 34.30),
    ("nn.softmax_bf16", 214.86),
    ("nn.softmax_causal", 153.91),
    ("nn.softmax_columns", 250.93),
    ("nn.sum_columns", 57.73),
    ("nn.sum_rows", 17.26),
    ("nn.svd/1024x256", 37.60),
    ("nn.svd/4096x1024", 21.00),
    ("nn.tanh", 342.80),
];

/// PyTorch's recorded time of a line, if there is one.
pub(super) fn contender(id: &str, work: f64) -> Option<Contender> {
    let &(_, picoseconds) = RATES.iter().find(|&&(line, _)| line == id)?;
    let time = Duration::from_secs_f64(picoseconds * 1e-12 * work);
    Some(Contender::recorded(format!("PyTorch 2.15.0, recorded on {PROCESSOR}"), time))
}
