"""Draw `input.png`: a street scene with signs, and a receipt. Pillow's own font; the same picture every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

WIDTH, HEIGHT = 640, 480


def draw() -> Image.Image:
    rows = np.linspace(0, 1, HEIGHT)[:, None, None]
    sky, ground = np.array([150, 190, 225]), np.array([215, 205, 190])
    noise = np.random.Generator(np.random.PCG64(3)).normal(0, 4, (HEIGHT, WIDTH, 1))
    pixels = sky * (1 - rows) + ground * rows + noise
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 380, WIDTH, HEIGHT), fill=(96, 98, 102))
    for x in range(20, WIDTH, 110):
        pen.rectangle((x, 428, x + 60, 434), fill=(230, 230, 220))
    sign(image, (40, 40), (290, 120), (20, 92, 60), "Museum  2 km", 34, 0)
    sign(image, (60, 150), (260, 210), (24, 70, 150), "City Centre", 28, -4)
    stop(pen, (160, 300), 62)
    receipt(image)
    return image.filter(ImageFilter.GaussianBlur(0.6))


def sign(
    image: Image.Image,
    corner: tuple[int, int],
    end: tuple[int, int],
    color: tuple[int, int, int],
    text: str,
    size: int,
    angle: float,
) -> None:
    width, height = end[0] - corner[0], end[1] - corner[1]
    plate = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    pen = ImageDraw.Draw(plate)
    pen.rounded_rectangle((0, 0, width - 1, height - 1), 10, fill=color, outline=(245, 245, 245), width=4)
    pen.text((width / 2, height / 2), text, font=ImageFont.load_default(size), fill=(250, 250, 250), anchor="mm")
    plate = plate.rotate(angle, resample=Image.Resampling.BICUBIC, expand=True)
    image.paste(plate, corner, plate)


def stop(pen: ImageDraw.ImageDraw, center: tuple[int, int], radius: int) -> None:
    pen.rectangle((center[0] - 4, center[1] + radius - 6, center[0] + 4, 400), fill=(120, 120, 125))
    pen.regular_polygon((*center, radius), 8, rotation=22.5, fill=(190, 30, 40), outline=(250, 250, 250))
    pen.text(center, "STOP", font=ImageFont.load_default(38), fill=(255, 255, 255), anchor="mm")


def receipt(image: Image.Image) -> None:
    paper = Image.new("RGBA", (240, 330), (250, 249, 244, 255))
    pen = ImageDraw.Draw(paper)
    pen.text((120, 28), "CORNER CAFE", font=ImageFont.load_default(24), fill=(30, 30, 30), anchor="mm")
    pen.line((18, 52, 222, 52), fill=(150, 150, 150), width=1)
    lines = [("Coffee", "3.20"), ("Apple cake", "4.50"), ("Orange juice", "2.90"), ("Sandwich", "5.75")]
    font = ImageFont.load_default(18)
    for at, (what, price) in enumerate(lines):
        y = 80 + 36 * at
        pen.text((20, y), what, font=font, fill=(50, 50, 50), anchor="lm")
        pen.text((220, y), price, font=font, fill=(50, 50, 50), anchor="rm")
    pen.line((18, 222, 222, 222), fill=(150, 150, 150), width=1)
    pen.text((20, 250), "TOTAL", font=ImageFont.load_default(24), fill=(20, 20, 20), anchor="lm")
    pen.text((220, 250), "16.35", font=ImageFont.load_default(24), fill=(20, 20, 20), anchor="rm")
    pen.text((120, 300), "Thank you!", font=font, fill=(90, 90, 90), anchor="mm")
    paper = paper.rotate(-3, resample=Image.Resampling.BICUBIC, expand=True)
    image.paste(paper, (350, 60), paper)


if __name__ == "__main__":
    draw().save(Path(__file__).with_name("input.png"), optimize=True)
