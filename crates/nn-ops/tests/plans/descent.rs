//! Steps of gradient descent against an f64 model written from the definition.

use backend_api::{Buffer, Queue};
use nn_ops::{Dense, Mlp, Parameter, Sgd, TensorRef, io::Tensors};

/// `v = momentum v + g`, `w = (1 - rate decay) w - rate v`.
struct Model {
    weights: Vec<f64>,
    velocity: Vec<f64>,
}

impl Model {
    fn new(weights: &[f32]) -> Self {
        Self { weights: weights.iter().map(|&w| f64::from(w)).collect(), velocity: vec![0.0; weights.len()] }
    }

    fn descend(&mut self, sgd: Sgd, gradient: &[f32]) {
        let [rate, momentum, decay] = [sgd.rate, sgd.momentum, sgd.decay].map(f64::from);
        for ((w, v), g) in self.weights.iter_mut().zip(&mut self.velocity).zip(gradient) {
            *v = momentum * *v + f64::from(*g);
            *w = (1.0 - rate * decay) * *w - rate * *v;
        }
    }
}

fn assert_close(got: &[f32], expected: &[f64], what: impl core::fmt::Debug) {
    assert_eq!(got.len(), expected.len());
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(*got) - expected).abs();
        assert!(error <= 3e-6 * expected.abs().max(1.0), "{what:?}, element {i}: {got}, expected {expected}");
    }
}

#[test]
fn weights_decay_as_in_the_model_with_and_without_momentum() {
    let q = runtime::cpu().unwrap();
    let start: Vec<f32> = (0..37).map(|i| (i * 29 % 37) as f32 / 9.0 - 2.0).collect();
    for (momentum, decay) in [(0.0, 0.0), (0.0, 0.1), (0.9, 0.0), (0.9, 0.1), (0.5, 2.0), (0.9, -0.1)] {
        let sgd = Sgd { rate: 0.05, momentum, decay };
        let mut parameter = Parameter::from_values(&q, &[37], &start).unwrap();
        let mut model = Model::new(&start);
        for step in 0..30 {
            let gradient: Vec<f32> = (0..37).map(|i| ((i * 11 + step * 7) % 23) as f32 / 20.0 - 0.5).collect();
            let (_, into) = parameter.value_and_gradient().unwrap();
            q.write(&gradient, into.into_view()).unwrap();
            parameter.descend(&q, sgd).unwrap();
            model.descend(sgd, &gradient);
            assert_close(&parameter.tensor(&q).unwrap().data, &model.weights, (sgd, step));
        }
    }
}

/// What decay takes in one step is `rate decay w` of every tensor of the network, biases too, whatever the gradient is.
#[test]
fn every_tensor_of_a_network_decays() {
    let q = runtime::cpu().unwrap();
    let values = |count: usize, salt: usize| -> Vec<f32> {
        (0..count).map(|i| ((i * 7 + salt) % 13) as f32 / 6.0 - 1.0).collect()
    };
    let step = |decay: f32| -> [Tensors; 2] {
        let layer = |[inputs, outputs]: [usize; 2]| {
            Dense::from_values(&q, [inputs, outputs], &values(inputs * outputs, outputs), &values(outputs, 3)).unwrap()
        };
        let mut network = Mlp::from_layers(vec![layer([4, 6]), layer([6, 3])]).unwrap();
        let before = network.tensors(&q, &["a", "b"]).unwrap();
        let (x, y) = (q.upload(&values(20, 1)).unwrap(), q.upload(&[0u32, 2, 1, 1, 0]).unwrap());
        let mut workspace = network.workspace(&q, 5).unwrap();
        let x = TensorRef::contiguous(x.view(), &[5, 4]).unwrap();
        let y = TensorRef::contiguous(y.view(), &[5]).unwrap();
        network.train_step(&q, &mut workspace, x, y, Sgd { rate: 0.25, momentum: 0.9, decay }).unwrap();
        [before, network.tensors(&q, &["a", "b"]).unwrap()]
    };
    let ([before, plain], [_, decayed]) = (step(0.0), step(0.5));
    for (name, decayed) in &decayed {
        let pairs = plain[name].data.iter().zip(&before[name].data);
        let expected: Vec<f64> = pairs.map(|(&w, &old)| f64::from(w) - 0.25 * 0.5 * f64::from(old)).collect();
        assert_close(&decayed.data, &expected, name);
    }
}
