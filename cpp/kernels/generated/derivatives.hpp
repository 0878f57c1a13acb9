/// \file derivatives.hpp
/// Clad's derivatives of the activations and losses by z, for float and double. Not to be edited.
// Made by Clad 2.5.0~dev (git 4b2c0eef17e298af448c22b08631923507cbb105)
// from activations.hpp, losses.hpp, pushforwards.hpp, derive.cpp
// sha256 of the inputs: da1d917e0489aa846598fa0364de8d421362d82c3fa632b4eaeb4d98c481b3b0
// sha256 of the text below: bd7f2bc42731ad77c90012ec377c4aa5122d1aa9ac11838ee24fddb68e71e8e0
// To make it again: cargo xtask gradients

#pragma once
#include "../pushforwards.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
namespace CladTorch::Kernels {

inline float Identity_darg0(float z) {
    float _d_z = 1;
    return _d_z;
}
inline double Identity_darg0(double z) {
    double _d_z = 1;
    return _d_z;
}
inline float Relu_darg0(float z) {
    float _d_z = 1;
    bool _t0 = z <= 0;
    return _t0 ? float(0) : _d_z;
}
inline double Relu_darg0(double z) {
    double _d_z = 1;
    bool _t0 = z <= 0;
    return _t0 ? double(0) : _d_z;
}
inline float LeakyRelu_darg0(float z) {
    float _d_z = 1;
    float _t0 = float(0.01);
    bool _t1 = z > 0;
    return _t1 ? _d_z : _t0 * _d_z;
}
inline double LeakyRelu_darg0(double z) {
    double _d_z = 1;
    double _t0 = double(0.01);
    bool _t1 = z > 0;
    return _t1 ? _d_z : _t0 * _d_z;
}
inline float Tanh_darg0(float z) {
    float _d_z = 1;
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::tanh_pushforward(z, _d_z);
    return _t0.pushforward;
}
inline double Tanh_darg0(double z) {
    double _d_z = 1;
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::tanh_pushforward(z, _d_z);
    return _t0.pushforward;
}
inline float Sigmoid_darg0(float z) {
    float _d_z = 1;
    if (z >= 0) {
        ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::exp_pushforward(-z, -_d_z);
        float _t1 = (1 + _t0.value);
        return (0 - _t0.pushforward) / (_t1 * _t1);
    }
    ValueAndPushforward<float, float> _t2 = clad::custom_derivatives::std::exp_pushforward(z, _d_z);
    float _d_e = _t2.pushforward;
    float e = _t2.value;
    float _t3 = (1 + e);
    return (_d_e * _t3 - e * _d_e) / (_t3 * _t3);
}
inline double Sigmoid_darg0(double z) {
    double _d_z = 1;
    if (z >= 0) {
        ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::exp_pushforward(-z, -_d_z);
        double _t1 = (1 + _t0.value);
        return (0 - _t0.pushforward) / (_t1 * _t1);
    }
    ValueAndPushforward<double, double> _t2 = clad::custom_derivatives::std::exp_pushforward(z, _d_z);
    double _d_e = _t2.pushforward;
    double e = _t2.value;
    double _t3 = (1 + e);
    return (_d_e * _t3 - e * _d_e) / (_t3 * _t3);
}
inline clad::ValueAndPushforward<float, float> Sigmoid_pushforward(float z, float _d_z) {
    if (z >= 0) {
        ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::exp_pushforward(-z, -_d_z);
        float _t1 = (1 + _t0.value);
        return {1 / _t1, (0 - _t0.pushforward) / (_t1 * _t1)};
    }
    ValueAndPushforward<float, float> _t2 = clad::custom_derivatives::std::exp_pushforward(z, _d_z);
    float _d_e = _t2.pushforward;
    float e = _t2.value;
    float _t3 = (1 + e);
    return {e / _t3, (_d_e * _t3 - e * _d_e) / (_t3 * _t3)};
}
inline float Silu_darg0(float z) {
    float _d_z = 1;
    clad::ValueAndPushforward<float, float> _t0 = CladTorch::Kernels::Sigmoid_pushforward(z, _d_z);
    float &_t1 = _t0.value;
    return _d_z * _t1 + z * _t0.pushforward;
}
inline clad::ValueAndPushforward<double, double> Sigmoid_pushforward(double z, double _d_z) {
    if (z >= 0) {
        ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::exp_pushforward(-z, -_d_z);
        double _t1 = (1 + _t0.value);
        return {1 / _t1, (0 - _t0.pushforward) / (_t1 * _t1)};
    }
    ValueAndPushforward<double, double> _t2 = clad::custom_derivatives::std::exp_pushforward(z, _d_z);
    double _d_e = _t2.pushforward;
    double e = _t2.value;
    double _t3 = (1 + e);
    return {e / _t3, (_d_e * _t3 - e * _d_e) / (_t3 * _t3)};
}
inline double Silu_darg0(double z) {
    double _d_z = 1;
    clad::ValueAndPushforward<double, double> _t0 = CladTorch::Kernels::Sigmoid_pushforward(z, _d_z);
    double &_t1 = _t0.value;
    return _d_z * _t1 + z * _t0.pushforward;
}
inline float Gelu_darg0(float z) {
    float _d_z = 1;
    float _t0 = float(0.5);
    float _t1 = float(-0.70710678118654757);
    ValueAndPushforward<float, float> _t2 = clad::custom_derivatives::std::erfc_pushforward(z * _t1, _d_z * _t1);
    float _t3 = _t0 * z;
    float &_t4 = _t2.value;
    return (_t0 * _d_z) * _t4 + _t3 * _t2.pushforward;
}
inline double Gelu_darg0(double z) {
    double _d_z = 1;
    double _t0 = double(0.5);
    double _t1 = double(-0.70710678118654757);
    ValueAndPushforward<double, double> _t2 = clad::custom_derivatives::std::erfc_pushforward(z * _t1, _d_z * _t1);
    double _t3 = _t0 * z;
    double &_t4 = _t2.value;
    return (_t0 * _d_z) * _t4 + _t3 * _t2.pushforward;
}
inline float Softplus_darg0(float z) {
    float _d_z = 1;
    if (z > 0) {
        ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::exp_pushforward(-z, -_d_z);
        ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::std::log1p_pushforward(_t0.value, _t0.pushforward);
        return _d_z + _t1.pushforward;
    }
    ValueAndPushforward<float, float> _t2 = clad::custom_derivatives::std::exp_pushforward(z, _d_z);
    ValueAndPushforward<float, float> _t3 = clad::custom_derivatives::std::log1p_pushforward(_t2.value, _t2.pushforward);
    return _t3.pushforward;
}
inline double Softplus_darg0(double z) {
    double _d_z = 1;
    if (z > 0) {
        ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::exp_pushforward(-z, -_d_z);
        ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::std::log1p_pushforward(_t0.value, _t0.pushforward);
        return _d_z + _t1.pushforward;
    }
    ValueAndPushforward<double, double> _t2 = clad::custom_derivatives::std::exp_pushforward(z, _d_z);
    ValueAndPushforward<double, double> _t3 = clad::custom_derivatives::std::log1p_pushforward(_t2.value, _t2.pushforward);
    return _t3.pushforward;
}
inline float BinaryCrossEntropy_darg0(float z, float y) {
    float _d_z = 1;
    float _d_y = 0;
    if (z > 0) {
        float _t0 = (1 - y);
        ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::std::exp_pushforward(-z, -_d_z);
        ValueAndPushforward<float, float> _t2 = clad::custom_derivatives::std::log1p_pushforward(_t1.value, _t1.pushforward);
        return (0 - _d_y) * z + _t0 * _d_z + _t2.pushforward;
    }
    ValueAndPushforward<float, float> _t3 = clad::custom_derivatives::std::exp_pushforward(z, _d_z);
    ValueAndPushforward<float, float> _t4 = clad::custom_derivatives::std::log1p_pushforward(_t3.value, _t3.pushforward);
    return _t4.pushforward - (_d_y * z + y * _d_z);
}
inline double BinaryCrossEntropy_darg0(double z, double y) {
    double _d_z = 1;
    double _d_y = 0;
    if (z > 0) {
        double _t0 = (1 - y);
        ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::std::exp_pushforward(-z, -_d_z);
        ValueAndPushforward<double, double> _t2 = clad::custom_derivatives::std::log1p_pushforward(_t1.value, _t1.pushforward);
        return (0 - _d_y) * z + _t0 * _d_z + _t2.pushforward;
    }
    ValueAndPushforward<double, double> _t3 = clad::custom_derivatives::std::exp_pushforward(z, _d_z);
    ValueAndPushforward<double, double> _t4 = clad::custom_derivatives::std::log1p_pushforward(_t3.value, _t3.pushforward);
    return _t4.pushforward - (_d_y * z + y * _d_z);
}
inline float SoftmaxCrossEntropy_darg0(float z, float rest, float target) {
    float _d_z = 1;
    float _d_rest = 0;
    float _d_target = 0;
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::expm1_pushforward(z, _d_z);
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::std::log1p_pushforward(rest + _t0.value, _d_rest + _t0.pushforward);
    return _t1.pushforward - (_d_target * z + target * _d_z);
}
inline double SoftmaxCrossEntropy_darg0(double z, double rest, double target) {
    double _d_z = 1;
    double _d_rest = 0;
    double _d_target = 0;
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::expm1_pushforward(z, _d_z);
    ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::std::log1p_pushforward(rest + _t0.value, _d_rest + _t0.pushforward);
    return _t1.pushforward - (_d_target * z + target * _d_z);
}
inline float SquaredError_darg0(float z, float y) {
    float _d_z = 1;
    float _d_y = 0;
    float _d_d = _d_z - _d_y;
    float d = z - y;
    return _d_d * d + d * _d_d;
}
inline double SquaredError_darg0(double z, double y) {
    double _d_z = 1;
    double _d_y = 0;
    double _d_d = _d_z - _d_y;
    double d = z - y;
    return _d_d * d + d * _d_d;
}
inline float Huber_darg0(float z, float y) {
    float _d_z = 1;
    float _d_y = 0;
    float _d_d = _d_z - _d_y;
    float d = z - y;
    if (d > 1)
        return _d_d - float(0.);
    if (d < -1)
        return -_d_d;
    float _t0 = float(0.5);
    float _t1 = _t0 * d;
    return (_t0 * _d_d) * d + _t1 * _d_d;
}
inline double Huber_darg0(double z, double y) {
    double _d_z = 1;
    double _d_y = 0;
    double _d_d = _d_z - _d_y;
    double d = z - y;
    if (d > 1)
        return _d_d - double(0.);
    if (d < -1)
        return -_d_d;
    double _t0 = double(0.5);
    double _t1 = _t0 * d;
    return (_t0 * _d_d) * d + _t1 * _d_d;
}

} // namespace CladTorch::Kernels
#pragma GCC diagnostic pop
