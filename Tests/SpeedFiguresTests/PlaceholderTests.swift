import SpeedFigures
import Testing
