// Decodes WebP with libwebp. The entry points of the shared library _webp.abi3.so; codecs.py
// calls them. Of an animation, the first image is decoded.
#include <webp/decode.h>
#include <webp/demux.h>

#include "codec.h"

namespace orbbec {
namespace {

// A WebP whose first image covers the canvas. Others are left to Pillow.
class WebpFile {
 public:
  WebpFile(const uint8_t* data, size_t size) : data_(data) {
    const WebPData file{data, size};
    // Pillow makes the same checks, in the same order.
    if (WebPGetFeatures(data, size, &features_) != VP8_STATUS_OK) return;
    demuxer_.reset(WebPDemux(&file));
    if (demuxer_ == nullptr || WebPDemuxGetFrame(demuxer_.get(), 1, &frame_) == 0) return;
    height_ = static_cast<int>(WebPDemuxGetI(demuxer_.get(), WEBP_FF_CANVAS_HEIGHT));
    width_ = static_cast<int>(WebPDemuxGetI(demuxer_.get(), WEBP_FF_CANVAS_WIDTH));
    is_known_ = frame_.x_offset == 0 && frame_.y_offset == 0 && frame_.height == height_ &&
                frame_.width == width_;
  }
  WebpFile(const WebpFile&) = delete;
  WebpFile& operator=(const WebpFile&) = delete;
  ~WebpFile() { WebPDemuxReleaseIterator(&frame_); }

  bool is_known() const { return is_known_; }

  ImageHeader header() const {
    ImageHeader header{height_, width_, features_.has_alpha ? 4 : 3, 0, 0};
    WebPChunkIterator exif;
    if (WebPDemuxGetChunk(demuxer_.get(), "EXIF", 1, &exif) != 0) {
      header.exif_offset = exif.chunk.bytes - data_;
      header.exif_size = exif.chunk.size;
      WebPDemuxReleaseChunkIterator(&exif);
    }
    return header;
  }

  // Alpha that the file does not announce is ignored.
  const char* decode(const Target& target) const {
    const int channels = target.channels == 4 && features_.has_alpha ? 4 : 3;
    const bool is_whole = target.height == height_ && target.width == width_;
    if (is_whole && channels == target.channels && target.pixel_stride == channels &&
        target.row_stride >= width_ * channels && target.row_stride <= INT32_MAX) {
      return decode_to(target.first, static_cast<int>(target.row_stride), channels);
    }
    const int stride = width_ * channels;  // at most 2^14 columns
    const Scratch pixels(static_cast<size_t>(stride) * height_);
    if (pixels.data() == nullptr) return "out of memory";
    if (const char* const failure = decode_to(pixels.data(), stride, channels)) return failure;
    for (int y = target.top; y < target.top + target.height; ++y) {
      const uint8_t* const row = pixels.data() + static_cast<size_t>(y) * stride;
      channels == 4 ? write_row<4>(row, y, target) : write_row<3>(row, y, target);
    }
    return nullptr;
  }

 private:
  const char* decode_to(uint8_t* pixels, int stride, int channels) const {
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) return "another libwebp";
    config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {pixels, stride,
                            static_cast<size_t>(stride) * (height_ - 1) + width_ * channels};
    const VP8StatusCode status = WebPDecode(frame_.fragment.bytes, frame_.fragment.size, &config);
    return status == VP8_STATUS_OK ? nullptr : "the pixels are damaged";
  }

  struct Delete {
    void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
  };

  const uint8_t* data_;
  WebPBitstreamFeatures features_{};
  std::unique_ptr<WebPDemuxer, Delete> demuxer_;
  WebPIterator frame_{};
  int height_ = 0, width_ = 0;
  bool is_known_ = false;
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// As orbbec_png_header.
int orbbec_webp_header(const uint8_t* data, size_t size, ImageHeader* header) {
  const WebpFile file(data, size);
  if (!file.is_known()) return kOther;
  *header = file.header();
  return kDecoded;
}

// As orbbec_png_decode.
int orbbec_webp_decode(const uint8_t* data, size_t size, int shrink, int channels, int left,
                       int top, int width, int height, uint8_t* out, ptrdiff_t row_stride,
                       ptrdiff_t pixel_stride, char* message) {
  const WebpFile file(data, size);
  if (shrink != 1 || !file.is_known()) return kOther;
  const Target target{left, top, width, height, channels, out, row_stride, pixel_stride};
  if (!target.is_within(file.header(), message)) return kDamaged;
  const char* const failure = file.decode(target);
  if (failure == nullptr) return kDecoded;
  std::snprintf(message, kMessageBytes, "WebP: %s", failure);
  return kDamaged;
}

// The version of libwebp, 8 bits a number.
int orbbec_webp_version() { return WebPGetDecoderVersion(); }
}
#pragma GCC visibility pop
}  // namespace orbbec
