//! Times of PyTorch for machines without it.

use std::time::Duration;

use crate::Contender;

/// The processor of the recorded times.
const PROCESSOR: &str = "EPYC, family 26 model 2";

/// Of PyTorch 2.15.0, one thread with AVX-512: picoseconds for a unit of a line, medians.
const RATES: [(&str, f64); 53] = [
    ("nn.adam_w/4194304", 15.90),
    ("nn.add", 16.11),
    ("nn.add_row", 14.93),
    ("nn.attention/1x8x2048x64", 12.64),
    ("nn.attention/4x8x512x64", 21.45),
    ("nn.attention/8x12x128x64", 25.53),
    ("nn.attention_backward/4x8x512x64", 20.86),
    ("nn.attention_decode/2048", 51.27),
    ("nn.bptt_step", 14.27),
    ("nn.cross_entropy", 199.27),
    ("nn.dropout", 583.99),
    ("nn.encode_state", 14.74),
    ("nn.encode_state/4096", 9.26),
    ("nn.gelu", 142.20),
    ("nn.gelu_backward", 98.59),
    ("nn.gelu_bf16", 305.89),
    ("nn.gelu_erf", 51.74),
    ("nn.gru/128x256", 11.90),
    ("nn.layer_norm", 30.39),
    ("nn.layer_norm_backward", 32.39),
    ("nn.layer_norm_bf16", 75.76),
    ("nn.log_softmax", 56.42),
    ("nn.matmul/1024", 9.02),
    ("nn.matmul/128", 9.46),
    ("nn.matmul/1x512x256", 24.91),
    ("nn.matmul/256", 8.91),
    ("nn.matmul/32x256x512", 10.45),
    ("nn.matmul/512", 8.87),
    ("nn.matmul_bf16/1024", 2.01),
    ("nn.matmul_bf16/128", 5.09),
    ("nn.matmul_bf16/256", 2.38),
    ("nn.matmul_bf16/512", 2.01),
    ("nn.matmul_f16/512", 362.89),
    ("nn.matmul_nt/512", 8.79),
    ("nn.matmul_nt_bf16/256", 2.28),
    ("nn.matmul_tn/512", 8.81),
    ("nn.mlp_step", 10.69),
    ("nn.relu", 14.28),
    ("nn.rms_norm", 73.37),
    ("nn.rssm_rollout/64x256", 16.76),
    ("nn.sigmoid", 26.21),
    ("nn.silu", 26.89),
    ("nn.softmax", 57.01),
    ("nn.softmax_backward", 21.70),
    ("nn.softmax_bf16", 111.48),
    ("nn.softmax_causal", 122.65),
    ("nn.softmax_columns", 210.39),
    ("nn.sum_columns", 48.02),
    ("nn.sum_rows", 9.73),
    ("nn.svd/1024x256", 22.63),
    ("nn.svd/4096x1024", 16.68),
    ("nn.tanh", 255.54),
    ("nn.text_step", 10.65),
];

/// PyTorch's recorded time of a line, if there is one.
pub(super) fn contender(id: &str, work: f64) -> Option<Contender> {
    let &(_, picoseconds) = RATES.iter().find(|&&(line, _)| line == id)?;
    let time = Duration::from_secs_f64(picoseconds * 1e-12 * work);
    Some(Contender::recorded(&format!("PyTorch 2.15.0, recorded on {PROCESSOR}"), time))
}
