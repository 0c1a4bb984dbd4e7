// The pybind11 module orbbec.opencv._opencv: NumPy in, NumPy out, computed by its own static
// OpenCV. No torch. All arguments are checked here; opencv.py adds names, defaults and
// documentation.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdint>
#include <new>
#include <opencv2/core.hpp>
#include <opencv2/geometry/2d.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace orbbec {
namespace {

// An argument of a call, named in errors.
struct Argument {
  const char* function;
  const char* name;
  py::handle value;

  std::string expected(const std::string& what, const std::string& found) const {
    return std::string(function) + ": expected " + name + " " + what + ", but got " + found;
  }
  [[noreturn]] void refuse_type(const std::string& what) const {
    throw py::type_error(expected(what, Py_TYPE(value.ptr())->tp_name));
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& found) const {
    throw py::value_error(expected(what, found));
  }
};

struct Choice {
  const char* name;
  int value;
};

constexpr std::array<Choice, 5> kInterpolations{{{"nearest", cv::INTER_NEAREST},
                                                 {"linear", cv::INTER_LINEAR},
                                                 {"cubic", cv::INTER_CUBIC},
                                                 {"area", cv::INTER_AREA},
                                                 {"lanczos4", cv::INTER_LANCZOS4}}};
constexpr std::array<Choice, 5> kBorders{{{"constant", cv::BORDER_CONSTANT},
                                          {"replicate", cv::BORDER_REPLICATE},
                                          {"reflect", cv::BORDER_REFLECT},
                                          {"reflect101", cv::BORDER_REFLECT_101},
                                          {"wrap", cv::BORDER_WRAP}}};
// cv::Scalar holds four values.
constexpr int kFillChannels = 4;
// The largest coordinate up to which float32, in which OpenCV 5 computes positions, holds every
// integer.
constexpr double kFarthestPixel = 1 << 24;

std::string shape_of(const py::array& array) {
  std::string text = "[";
  for (py::ssize_t i = 0; i < array.ndim(); ++i) {
    text += (i ? ", " : "") + std::to_string(array.shape(i));
  }
  return text + "]";
}

int parse_choice(const Argument& argument, const std::array<Choice, 5>& choices) {
  if (!py::isinstance<py::str>(argument.value)) argument.refuse_type("to be a string");
  const auto text = argument.value.cast<std::string>();
  std::string names;
  for (const Choice& choice : choices) {
    if (text == choice.name) return choice.value;
    names += (names.empty() ? "" : ", ") + std::string(choice.name);
  }
  argument.refuse("to be one of " + names, "'" + text + "'");
}

bool parse_bool(const Argument& argument) {
  if (!PyBool_Check(argument.value.ptr())) argument.refuse_type("to be True or False");
  return argument.value.ptr() == Py_True;
}

cv::Size parse_size(const Argument& argument) {
  const char* what = "to be two whole numbers (height, width)";
  PyObject* value = argument.value.ptr();
  if (!PySequence_Check(value) || PyUnicode_Check(value) || PyBytes_Check(value)) {
    argument.refuse_type(what);
  }
  const auto items = py::reinterpret_steal<py::tuple>(PySequence_Tuple(value));
  if (!items) throw py::error_already_set();
  if (items.size() != 2) argument.refuse(what, std::to_string(items.size()) + " values");
  std::array<int, 2> sides;
  for (size_t i = 0; i < 2; ++i) {
    const auto item = py::reinterpret_steal<py::object>(PyNumber_Index(items[i].ptr()));
    if (!item) {
      PyErr_Clear();
      Argument{argument.function, argument.name, items[i]}.refuse_type(what);
    }
    int overflow = 0;
    const long long side = PyLong_AsLongLongAndOverflow(item.ptr(), &overflow);
    if (overflow != 0 || side < 1 || side > INT_MAX) {
      argument.refuse("from 1 to 2147483647 on each side", py::repr(argument.value));
    }
    sides[i] = static_cast<int>(side);
  }
  return {sides[1], sides[0]};
}

// An array of float64 in row-major order.
py::array_t<double> parse_numbers(const Argument& argument) {
  const py::array any = py::array::ensure(argument.value);
  if (!any) argument.refuse_type("to be an array of numbers");
  const char kind = any.dtype().kind();
  if (kind != 'f' && kind != 'i' && kind != 'u') {
    throw py::type_error(argument.expected("to hold real numbers",
                                           "dtype " + py::str(any.dtype()).cast<std::string>()));
  }
  const auto numbers = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(any);
  if (!numbers) argument.refuse_type("to be an array of numbers");
  return numbers;
}

py::array_t<double> parse_finite(const Argument& argument, py::ssize_t rows, py::ssize_t columns) {
  auto numbers = parse_numbers(argument);
  if (numbers.ndim() != 2 || numbers.shape(0) != rows || numbers.shape(1) != columns) {
    argument.refuse("of shape [" + std::to_string(rows) + ", " + std::to_string(columns) + "]",
                    shape_of(numbers));
  }
  for (py::ssize_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers.data()[i])) {
      argument.refuse("to be finite", std::to_string(numbers.data()[i]));
    }
  }
  return numbers;
}

cv::Scalar parse_fill(const Argument& argument, int channels) {
  const auto numbers = parse_numbers(argument);
  if (numbers.ndim() == 0) return cv::Scalar::all(*numbers.data());
  if (numbers.ndim() != 1 || numbers.size() != channels || channels > kFillChannels) {
    const bool listed = channels <= kFillChannels;
    const std::string or_list = listed ? " or " + std::to_string(channels) + " numbers" : "";
    argument.refuse("to be one number" + or_list, "shape " + shape_of(numbers));
  }
  cv::Scalar fill;
  std::copy_n(numbers.data(), channels, fill.val);
  return fill;
}

struct Image {
  py::array owner;
  cv::Mat mat;
};

int parse_depth(const Argument& argument, const py::array& array) {
  if (py::isinstance<py::array_t<uint8_t>>(array)) return CV_8U;
  if (py::isinstance<py::array_t<uint16_t>>(array)) return CV_16U;
  if (py::isinstance<py::array_t<float>>(array)) return CV_32F;
  if (py::isinstance<py::array_t<double>>(array)) return CV_64F;
  throw py::type_error(argument.expected("of dtype uint8, uint16, float32 or float64",
                                         py::str(array.dtype()).cast<std::string>()));
}

// The row stride in bytes as cv::Mat expects it, or 0 if only a copy has one. OpenCV's kernels use
// 32-bit offsets.
int64_t row_step(const py::array& array, int64_t rows, int64_t columns, int64_t channels) {
  const int64_t item = array.itemsize();
  const int64_t pixel = channels * item;
  const bool packed = (channels == 1 || array.strides(2) == item) &&
                      (columns == 1 || array.strides(1) == pixel) &&
                      reinterpret_cast<uintptr_t>(array.data()) % item == 0;
  const int64_t step = rows == 1 ? columns * pixel : array.strides(0);
  const bool fits = step >= columns * pixel && step % item == 0 && step <= INT_MAX / rows;
  return packed && fits ? step : 0;
}

Image parse_image(const Argument& argument) {
  if (!py::isinstance<py::array>(argument.value)) argument.refuse_type("to be a numpy array");
  auto array = py::reinterpret_borrow<py::array>(argument.value);
  const int depth = parse_depth(argument, array);
  if (array.ndim() != 2 && array.ndim() != 3) {
    argument.refuse("of shape [H, W] or [H, W, C]", shape_of(array));
  }
  const int64_t channels = array.ndim() == 3 ? array.shape(2) : 1;
  if (array.size() == 0) argument.refuse("to hold a pixel", "shape " + shape_of(array));
  if (channels > CV_CN_MAX) {
    argument.refuse("of 1 to " + std::to_string(CV_CN_MAX) + " channels", shape_of(array));
  }
  const int64_t rows = array.shape(0), columns = array.shape(1);
  if (array.nbytes() > INT_MAX) {
    argument.refuse("of less than 2 GiB", std::to_string(array.nbytes()) + " bytes");
  }
  int64_t step = row_step(array, rows, columns, channels);
  if (step == 0) {
    array = py::module_::import("numpy").attr("array")(array, py::arg("order") = "C",
                                                       py::arg("copy") = true);
    step = columns * channels * array.itemsize();
  }
  // OpenCV only reads it, and the array may be read-only.
  void* data = const_cast<void*>(array.data());
  cv::Mat mat(static_cast<int>(rows), static_cast<int>(columns), CV_MAKETYPE(depth, channels), data,
              static_cast<size_t>(step));
  return {std::move(array), std::move(mat)};
}

Image make_output(const Argument& size_argument, const Image& source, cv::Size size) {
  const int64_t row_bytes = static_cast<int64_t>(size.width) * source.mat.elemSize();
  if (row_bytes > INT_MAX) {
    size_argument.refuse("to give rows of less than 2 GiB", std::to_string(row_bytes) + " bytes");
  }
  std::vector<py::ssize_t> shape{size.height, size.width};
  if (source.owner.ndim() == 3) shape.push_back(source.owner.shape(2));
  py::array array(source.owner.dtype(), shape);
  cv::Mat mat(size, source.mat.type(), array.mutable_data());
  return {std::move(array), std::move(mat)};
}

// Runs OpenCV without the GIL. After the checks, an OpenCV error is reported as the caller's.
template <typename Call>
py::array answer(const char* function, Image output, const Call& call) {
  const uint8_t* data = output.mat.data;
  try {
    const py::gil_scoped_release release;
    call(output.mat);
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) throw std::bad_alloc();
    throw py::value_error(std::string(function) + ": OpenCV does not take this: " + error.err);
  }
  if (output.mat.data != data) throw std::runtime_error("OpenCV wrote elsewhere");
  return std::move(output.owner);
}

struct Border {
  int type;
  cv::Scalar fill;

  // Whether pixels outside are read through a reflected or wrapped index.
  bool looks_up() const { return type != cv::BORDER_CONSTANT && type != cv::BORDER_REPLICATE; }
};

// OpenCV steps towards a reflected pixel one image at a time, endlessly for NaN or 2^31, and its
// cubic kernels endlessly for a side of one pixel.
void check_reach(const Argument& border_argument, const Border& border, const cv::Mat& image,
                 int interpolation, const cv::Matx33d& to_source, cv::Size size) {
  if (!border.looks_up()) return;
  if (interpolation == cv::INTER_CUBIC && border.type == cv::BORDER_REFLECT_101 &&
      std::min(image.rows, image.cols) == 1) {
    border_argument.refuse("other than reflect101 for cubic in an image one pixel wide or high",
                           py::repr(border_argument.value));
  }
  bool front = false, behind = false, far = false;
  for (const double x : {0.0, size.width - 1.0}) {
    for (const double y : {0.0, size.height - 1.0}) {
      const cv::Vec3d at = to_source * cv::Vec3d(x, y, 1);
      front |= at[2] > 0;
      behind |= at[2] < 0;
      const double reach = std::max(std::abs(at[0] / at[2]), std::abs(at[1] / at[2]));
      far |= !(reach <= kFarthestPixel) || std::isnan(at[0] / at[2]);
    }
  }
  if (far || front == behind) {
    border_argument.refuse("constant or replicate where positions lie more than 2^24 pixels away",
                           py::repr(border_argument.value));
  }
}

cv::Matx33d inverse_affine(const cv::Matx33d& m) {
  double d = m(0, 0) * m(1, 1) - m(0, 1) * m(1, 0);
  d = d != 0 ? 1 / d : 0;
  const double a = m(1, 1) * d, b = -m(0, 1) * d, c = -m(1, 0) * d, e = m(0, 0) * d;
  return {a, b, -a * m(0, 2) - b * m(1, 2), c, e, -c * m(0, 2) - e * m(1, 2), 0, 0, 1};
}

py::array warp(const char* function, int matrix_rows, py::object image, py::object matrix,
               py::object size, py::object interpolation, py::object border, py::object fill,
               py::object inverse) {
  const Image source = parse_image({function, "image", image});
  const auto numbers = parse_finite({function, "matrix", matrix}, matrix_rows, 3);
  const Argument size_argument{function, "size", size};
  const cv::Size extent = parse_size(size_argument);
  const int method = parse_choice({function, "interpolation", interpolation}, kInterpolations);
  const Argument border_argument{function, "border", border};
  const Border edge{parse_choice(border_argument, kBorders),
                    parse_fill({function, "fill", fill}, source.mat.channels())};
  const bool inverted = parse_bool({function, "inverse", inverse});

  cv::Matx33d matrix_3x3 = cv::Matx33d::eye();
  std::copy_n(numbers.data(), numbers.size(), matrix_3x3.val);
  const bool affine = matrix_rows == 2;
  const cv::Matx33d to_source = inverted ? matrix_3x3
                                : affine ? inverse_affine(matrix_3x3)
                                         : matrix_3x3.inv();
  check_reach(border_argument, edge, source.mat, method, to_source, extent);

  const int flags = method | (inverted ? cv::WARP_INVERSE_MAP : 0);
  const cv::Mat transform(matrix_rows, 3, CV_64F, matrix_3x3.val);
  return answer(function, make_output(size_argument, source, extent), [&](cv::Mat& output) {
    if (affine) {
      cv::warpAffine(source.mat, output, transform, extent, flags, edge.type, edge.fill);
    } else {
      cv::warpPerspective(source.mat, output, transform, extent, flags, edge.type, edge.fill);
    }
  });
}

py::array warp_affine(py::object image, py::object matrix, py::object size,
                      py::object interpolation, py::object border, py::object fill,
                      py::object inverse) {
  return warp("warp_affine", 2, image, matrix, size, interpolation, border, fill, inverse);
}

py::array warp_perspective(py::object image, py::object matrix, py::object size,
                           py::object interpolation, py::object border, py::object fill,
                           py::object inverse) {
  return warp("warp_perspective", 3, image, matrix, size, interpolation, border, fill, inverse);
}

py::array resize(py::object image, py::object size, py::object interpolation) {
  const char* function = "resize";
  const Image source = parse_image({function, "image", image});
  const Argument size_argument{function, "size", size};
  const cv::Size extent = parse_size(size_argument);
  const int method = parse_choice({function, "interpolation", interpolation}, kInterpolations);
  return answer(function, make_output(size_argument, source, extent),
                [&](cv::Mat& output) { cv::resize(source.mat, output, extent, 0, 0, method); });
}

std::array<cv::Point2f, 3> parse_points(const Argument& argument) {
  const auto numbers = parse_finite(argument, 3, 2);
  std::array<cv::Point2f, 3> points;
  for (int i = 0; i < 3; ++i) {
    points[i] = {static_cast<float>(numbers.at(i, 0)), static_cast<float>(numbers.at(i, 1))};
    if (!std::isfinite(points[i].x) || !std::isfinite(points[i].y)) {
      argument.refuse("to be finite in float32",
                      std::to_string(numbers.at(i, 0)) + ", " + std::to_string(numbers.at(i, 1)));
    }
  }
  return points;
}

py::array affine_opencv(py::object image, py::object src_points, py::object dst_points,
                        py::object size) {
  const char* function = "affine_opencv";
  const Image source = parse_image({function, "image", image});
  const Argument src_argument{function, "src_points", src_points};
  const auto from = parse_points(src_argument);
  const auto to = parse_points({function, "dst_points", dst_points});
  const Argument size_argument{function, "size", size};
  const cv::Size extent = size.is_none() ? source.mat.size() : parse_size(size_argument);
  const cv::Mat matrix = cv::getAffineTransform(from.data(), to.data());
  const cv::Point2d a = cv::Point2d(from[1]) - cv::Point2d(from[0]);
  const cv::Point2d b = cv::Point2d(from[2]) - cv::Point2d(from[0]);
  if (a.cross(b) == 0 || !cv::checkRange(matrix)) {
    src_argument.refuse("to span a triangle", py::repr(src_points));
  }
  return answer(function, make_output(size_argument, source, extent),
                [&](cv::Mat& output) { cv::warpAffine(source.mat, output, matrix, extent); });
}

}  // namespace
}  // namespace orbbec

PYBIND11_MODULE(_opencv, module) {
  // Errors reach Python as exceptions; OpenCV would print them too.
  cv::redirectError([](int, const char*, const char*, const char*, int, void*) { return 0; });
  module.def("affine_opencv", &orbbec::affine_opencv);
  module.def("warp_affine", &orbbec::warp_affine);
  module.def("warp_perspective", &orbbec::warp_perspective);
  module.def("resize", &orbbec::resize);
  module.def("version", [] { return std::string(CV_VERSION); });
}
