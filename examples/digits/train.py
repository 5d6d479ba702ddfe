"""Train the digits example model and write it as a full int8 TFLite file.

It needs TensorFlow (last run with 2.21) and scikit-learn, and downloads nothing else:

    python3 -m pip install tensorflow-cpu scikit-learn
    python examples/digits/train.py

In about a minute it trains a small convolutional network on scikit-learn's 8x8 gray images of
handwritten digits, quantizes it, and writes two files next to this script:

    digits_int8.tflite   the model: int8 input and output, int8 weights scaled per channel
    test_images.npz      the held-out test set: `images` (int8, as the model takes them)
                         and `labels` (uint8)

It prints the loss of each epoch, then the size of the model and the share of test images that
the float network and the int8 model classify correctly. The test images are set aside first and
used for that last measurement only: not for training, not for calibrating the quantization, not
for choosing anything. The random seeds are fixed.
"""

from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

SEED = 1
TEST_IMAGES = 360
EPOCHS = 60
BATCH_SIZE = 32
FOLDER = Path(__file__).resolve().parent


def load_images() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the training images, test images, training labels and test labels.

    Pixels are floats from 0 (paper) to 1 (ink); every digit has its share in both sets.
    """
    digits = load_digits()
    images = (digits.images[..., np.newaxis] / 16).astype(np.float32)
    labels = digits.target.astype(np.uint8)
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, labels, test_size=TEST_IMAGES, stratify=labels, random_state=SEED
    )
    return train_images, test_images, train_labels, test_labels


def normalize_and_clip(values: keras.KerasTensor) -> keras.KerasTensor:
    """Add batch normalization and ReLU; the converter folds both into the layer before."""
    return layers.ReLU()(layers.BatchNormalization()(values))


def build_network() -> keras.Model:
    """Build the network; the README beside this script lists its layers."""
    image = keras.Input((8, 8, 1), name="image")
    values = layers.Conv2D(16, 3, padding="same", use_bias=False)(image)
    values = normalize_and_clip(values)
    values = layers.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(values)
    shortcut = values = normalize_and_clip(values)

    values = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(values)
    values = normalize_and_clip(values)
    values = layers.Conv2D(32, 1, use_bias=False)(values)
    values = layers.BatchNormalization()(values)
    values = layers.ReLU()(layers.Add()([shortcut, values]))

    values = layers.Conv2D(64, 3, padding="same", use_bias=False)(values)
    values = normalize_and_clip(values)
    values = layers.MaxPooling2D(2)(values)
    values = layers.GlobalAveragePooling2D()(values)
    values = layers.Dropout(0.2)(values)
    probabilities = layers.Dense(10, activation="softmax", name="probabilities")(values)
    return keras.Model(image, probabilities)


def train(network: keras.Model, images: np.ndarray, labels: np.ndarray) -> None:
    """Train for a fixed number of epochs, with a learning rate that falls to zero."""
    steps = EPOCHS * -(-len(images) // BATCH_SIZE)
    network.compile(
        optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, steps)),
        loss="sparse_categorical_crossentropy",
    )
    network.fit(images, labels, batch_size=BATCH_SIZE, epochs=EPOCHS, verbose=2)


def convert(network: keras.Model, calibration_images: np.ndarray) -> bytes:
    """Return the network as a TFLite file with int8 weights and values, and int32 biases."""

    @tf.function(input_signature=[tf.TensorSpec((1, 8, 8, 1), tf.float32, name="image")])
    def classify(image: tf.Tensor) -> tf.Tensor:
        return tf.identity(network(image, training=False), name="probabilities")

    def representative_dataset() -> Iterator[list[np.ndarray]]:
        for image in calibration_images:
            yield [image[np.newaxis]]

    # Turning the variables into constants and naming both ends ourselves gives the tensors
    # in the file the names `image` and `probabilities`.
    frozen = convert_variables_to_constants_v2(classify.get_concrete_function())
    named = frozen.prune("image:0", "probabilities:0")
    converter = tf.lite.TFLiteConverter.from_concrete_functions([named])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = representative_dataset
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.int8
    return converter.convert()


def classify_images(interpreter: tf.lite.Interpreter, images: np.ndarray) -> np.ndarray:
    """Return the digit that the int8 model finds most probable in each int8 image."""
    input_index = interpreter.get_input_details()[0]["index"]
    output_index = interpreter.get_output_details()[0]["index"]
    digits = np.empty(len(images), np.uint8)
    for position, image in enumerate(images):
        interpreter.set_tensor(input_index, image[np.newaxis])
        interpreter.invoke()
        digits[position] = interpreter.get_tensor(output_index).argmax()
    return digits


def main() -> None:
    """Train, convert, write both files and print the size and the accuracy."""
    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    train_images, test_images, train_labels, test_labels = load_images()

    network = build_network()
    train(network, train_images, train_labels)
    float_digits = network.predict(test_images, verbose=0).argmax(axis=1)

    model = convert(network, train_images)
    interpreter = tf.lite.Interpreter(model_content=model)
    interpreter.allocate_tensors()
    scale, zero_point = interpreter.get_input_details()[0]["quantization"]
    int8_images = np.clip(np.round(test_images / scale) + zero_point, -128, 127).astype(np.int8)
    int8_digits = classify_images(interpreter, int8_images)

    (FOLDER / "digits_int8.tflite").write_bytes(model)
    np.savez_compressed(FOLDER / "test_images.npz", images=int8_images, labels=test_labels)
    print(f"digits_int8.tflite: {len(model)} bytes, {len(test_labels)} test images")
    print(f"float accuracy: {np.mean(float_digits == test_labels):.2%}")
    print(f"int8 accuracy:  {np.mean(int8_digits == test_labels):.2%}")


if __name__ == "__main__":
    main()
