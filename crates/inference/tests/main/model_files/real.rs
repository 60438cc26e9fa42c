//! Model files in double precision, read from their JSON and from tensors as PyTorch stores them.

use nn_ops::io::Tensors;
use serde_json::Value;

/// A tensor of one input.
#[derive(Clone)]
struct RealTensor {
    shape: Vec<usize>,
    data: Vec<f64>,
}

/// The results for one input: numbers, or tokens if the first layer is an embedding.
pub(crate) fn results(content: &Value, tensors: &Tensors, input: &[f32]) -> Vec<f64> {
    let mut shape = lens(&content["input"]["shape"]);
    let mut data: Vec<f64> = input.iter().map(|&value| f64::from(value)).collect();
    if data.len() < shape.iter().product::<usize>() {
        let vocabulary = shape[1];
        let row = |&token: &f64| (0..vocabulary).map(move |at| f64::from(u8::from(at as f64 == token)));
        data = data.iter().flat_map(row).collect();
        shape = vec![input.len(), vocabulary];
    }
    layers(&content["layers"], tensors, RealTensor { shape, data }).data
}

fn layers(list: &Value, tensors: &Tensors, x: RealTensor) -> RealTensor {
    list.as_array().unwrap().iter().fold(x, |x, value| layer(value, tensors, x))
}

fn layer(layer: &Value, tensors: &Tensors, mut x: RealTensor) -> RealTensor {
    let name = layer["name"].as_str().unwrap();
    let (kind, options) = match &layer["kind"] {
        Value::Object(kind) => kind.iter().next().map(|(kind, options)| (kind.as_str(), options)).unwrap(),
        kind => (kind.as_str().unwrap(), &Value::Null),
    };
    let weight = |part: &str| -> Option<Vec<f64>> {
        let tensor = tensors.get(&format!("{name}.{part}"))?;
        Some(tensor.data.iter().map(|&value| f64::from(value)).collect())
    };
    match kind {
        "dense" => x = dense(&x, &weight("weight").unwrap(), weight("bias").as_deref()),
        "activation" => {
            let function: fn(f64) -> f64 = match options.as_str().unwrap() {
                "relu" => |x: f64| x.max(0.0),
                "gelu" => gelu,
                _ => |x: f64| x / (1.0 + (-x).exp()),
            };
            x.data.iter_mut().for_each(|x| *x = function(*x));
        }
        "layer_norm" => norm(&mut x, weight("weight").as_deref(), weight("bias").as_deref()),
        "attention" => {
            let [qkv, out] = ["qkv", "out"].map(|part| {
                [format!("{part}.weight"), format!("{part}.bias")].map(|part| weight(part.as_str()).unwrap())
            });
            let heads = options["heads"].as_u64().unwrap() as usize;
            let mixed = attention(&dense(&x, &qkv[0], Some(&qkv[1])), heads, options["causal"].as_bool().unwrap());
            x = dense(&mixed, &out[0], Some(&out[1]));
        }
        "residual" => {
            let y = layers(&options["layers"], tensors, x.clone());
            x.data.iter_mut().zip(y.data).for_each(|(x, y)| *x += y);
        }
        "embedding" => {
            let (weight, vocabulary) = (weight("weight").unwrap(), x.shape[1]);
            let width = weight.len() / vocabulary;
            let token = |row: &[f64]| row.iter().position(|&value| value == 1.0).unwrap();
            let data = x.data.chunks(vocabulary).flat_map(|row| weight[token(row) * width..][..width].to_vec());
            x = RealTensor { data: data.collect(), shape: vec![x.shape[0], width] };
        }
        "position_embedding" => {
            x.data.iter_mut().zip(weight("weight").unwrap()).for_each(|(x, weight)| *x += weight);
        }
        "conv2d" => {
            let shape = &tensors[&format!("{name}.weight")].shape;
            x = convolution(&x, options, shape, &weight("weight").unwrap(), weight("bias").as_deref());
        }
        "flatten" => x.shape = vec![x.data.len()],
        "mean_pool" => {
            x = if let [positions, width] = x.shape[..] {
                let mean = |unit| (0..positions).map(|row| x.data[row * width + unit]).sum::<f64>() / positions as f64;
                RealTensor { data: (0..width).map(mean).collect(), shape: vec![width] }
            } else {
                let pixels = x.shape[1] * x.shape[2];
                let mean = |channel: &[f64]| channel.iter().sum::<f64>() / pixels as f64;
                RealTensor { data: x.data.chunks(pixels).map(mean).collect(), shape: vec![x.shape[0]] }
            }
        }
        kind => panic!("{kind}"),
    }
    if let Some(limit) = options.get("limit").and_then(Value::as_f64) {
        assert!(x.data.iter().all(|value| value.abs() <= limit), "{name} is within its declared limit");
    }
    x
}

/// `x W^T + b` along the last axis, as `torch.nn.Linear`.
fn dense(x: &RealTensor, weight: &[f64], bias: Option<&[f64]>) -> RealTensor {
    let inputs = *x.shape.last().unwrap();
    let outputs = weight.len() / inputs;
    let unit = |row: &[f64], j: usize| {
        row.iter().zip(&weight[j * inputs..]).map(|(x, w)| x * w).sum::<f64>() + bias.map_or(0.0, |bias| bias[j])
    };
    let data = x.data.chunks(inputs).flat_map(|row| (0..outputs).map(|j| unit(row, j)).collect::<Vec<_>>()).collect();
    let mut shape = x.shape.clone();
    *shape.last_mut().unwrap() = outputs;
    RealTensor { shape, data }
}

fn norm(x: &mut RealTensor, weight: Option<&[f64]>, bias: Option<&[f64]>) {
    let width = *x.shape.last().unwrap();
    for row in x.data.chunks_mut(width) {
        let mean = row.iter().sum::<f64>() / width as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
        for (at, x) in row.iter_mut().enumerate() {
            let normed = (*x - mean) / (variance + 1.0 / 16.0).sqrt();
            *x = normed * weight.map_or(1.0, |weight| weight[at]) + bias.map_or(0.0, |bias| bias[at]);
        }
    }
}

/// Sums of values by attention; rows hold queries, keys and values, and in each of them the heads.
fn attention(projected: &RealTensor, heads: usize, causal: bool) -> RealTensor {
    let (positions, width) = (projected.shape[0], projected.shape[1] / 3);
    let units = width / heads;
    let part = |row: usize, part: usize, head: usize| {
        &projected.data[row * 3 * width + part * width + head * units..][..units]
    };
    let mut data = Vec::new();
    for row in 0..positions {
        let seen = if causal { row + 1 } else { positions };
        for head in 0..heads {
            let product = |other: usize| part(row, 0, head).iter().zip(part(other, 1, head)).map(|(q, k)| q * k);
            let exps: Vec<f64> =
                (0..seen).map(|other| (product(other).sum::<f64>() / (units as f64).sqrt()).exp()).collect();
            let sum: f64 = exps.iter().sum();
            data.extend(
                (0..units)
                    .map(|unit| (0..seen).map(|other| exps[other] / sum * part(other, 2, head)[unit]).sum::<f64>()),
            );
        }
    }
    RealTensor { shape: vec![positions, width], data }
}

/// A cross-correlation with zeros around the pixels, as `torch.nn.Conv2d`.
fn convolution(x: &RealTensor, options: &Value, shape: &[usize], weight: &[f64], bias: Option<&[f64]>) -> RealTensor {
    let pair = |name: &str, default: usize| match &options[name] {
        Value::Null => vec![default; 2],
        pair => lens(pair),
    };
    let (stride, padding) = (pair("stride", 1), pair("padding", 0));
    let [channels, height, width] = x.shape[..] else { panic!("{:?}", x.shape) };
    let (outputs, kernel) = (shape[0], &shape[2..]);
    let [rows, cols] =
        [(height, 0), (width, 1)].map(|(len, axis)| (len + 2 * padding[axis] - kernel[axis]) / stride[axis] + 1);
    let mut data = Vec::new();
    for (output, row, col) in
        (0..outputs).flat_map(|output| (0..rows).flat_map(move |row| (0..cols).map(move |col| (output, row, col))))
    {
        let mut sum = bias.map_or(0.0, |bias| bias[output]);
        for channel in 0..channels {
            for (i, j) in (0..kernel[0]).flat_map(|i| (0..kernel[1]).map(move |j| (i, j))) {
                let (y, x_at) = (row * stride[0] + i, col * stride[1] + j);
                let inside =
                    (padding[0]..padding[0] + height).contains(&y) && (padding[1]..padding[1] + width).contains(&x_at);
                if inside {
                    let pixel = x.data[(channel * height + y - padding[0]) * width + x_at - padding[1]];
                    sum += pixel * weight[((output * channels + channel) * kernel[0] + i) * kernel[1] + j];
                }
            }
        }
        data.push(sum);
    }
    RealTensor { shape: vec![outputs, rows, cols], data }
}

/// `x Φ(x)`, by the series of the error function (Abramowitz and Stegun, 7.1.6).
fn gelu(x: f64) -> f64 {
    let z = x.abs() / 2f64.sqrt();
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        term *= 2.0 * z * z / f64::from(2 * n + 1);
        sum += term;
    }
    let erf = 2.0 / std::f64::consts::PI.sqrt() * (-z * z).exp() * sum;
    x * 0.5 * (1.0 + erf.copysign(x))
}

fn lens(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|len| len.as_u64().unwrap() as usize).collect()
}
